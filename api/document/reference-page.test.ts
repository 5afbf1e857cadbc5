import { expect, test } from "vitest";
import { errorCodes } from "../errors.ts";
import { clientTypesText } from "./client-types.ts";
import { operations } from "./operations.ts";

test("docs/reference/api.md has every operation and every error", async () => {
	await expect(page()).toMatchFileSnapshot("../../docs/reference/api.md");
});

test("the client's types follow from the CRDs and the operations", async () => {
	await expect(clientTypesText()).toMatchFileSnapshot(
		"../generated/client-types.ts",
	);
});

function page(): string {
	return `${introduction}
## Operations

| Request | What it does | Answer |
| --- | --- | --- |
${operations
	.map(
		({ method, path, summary, answers }) =>
			`| \`${method} ${path}\` | ${summary} | ${Object.keys(answers).join(" or ")} |\n`,
	)
	.join("")}
## Errors

\`\`\`json
{"is_success": false, "error": {"code": "InvalidRequest", "message": "…", "details": [{"path": "duckDB.path", "message": "is required"}]}}
\`\`\`

| Status | Code | What to do |
| --- | --- | --- |
${Object.entries(errorCodes)
	.map(
		([code, { status, advice }]) => `| ${status} | \`${code}\` | ${advice} |\n`,
	)
	.join("")}`;
}

const introduction = `# REST API

<!-- Written from the tables in operator/api/ by "npm run unit -- operator/api/reference-page -u". Change those instead. -->

The same resources as \`kubectl\` shows, for people and programs that don't speak Kubernetes. It keeps no state and has no
privileges: whatever it does, it does with the caller's token. Every field stands at \`/docs\` of the API itself, and for
machines at \`/v1/openapi.json\`; types for TypeScript are in \`api/generated/client-types.ts\`.

## Who may ask

\`Authorization: Bearer <token>\` with a Kubernetes token. A service account's token is about its own namespace, which is the
account; another token (OIDC) names the account in \`Tidemill-Account\`. Kubernetes' RBAC decides what it may do there:

| ClusterRole | May |
| --- | --- |
| \`tidemill-viewer\` | see everything, webhook URLs and the logs of runs included |
| \`tidemill-editor\` | change everything; put Secrets there and remove them, but read none |
| \`tidemill-runner\` | start, follow and cancel runs |

\`\`\`sh
tidemill tokens create orchestrator --role runner
\`\`\`

## Resources

A resource is its CRD's \`spec\` and \`status\` on one level ([fields](resources.md)), with \`name\`, \`creationTimestamp\` and, where
GitOps keeps it, \`managedBy\`. Without a \`name\`, one is made from \`displayName\`.

- **Secrets** can be given inline (\`webhook.authorization.customToken.token\`, \`webhook.authorization.signature.secrets\`,
  \`bigQuery.credentials.key\`). They go into a Secret whose name begins with the resource's, and never come back. Deleting
  the resource here deletes that Secret; \`kubectl delete\` leaves it.
- **Changes** are JSON Merge Patches (RFC 7396). With \`If-Match: "<ETag>"\` they are made only if nobody else has changed the
  resource meanwhile, else 412. The ETag rises with the spec; a status that changes is no conflict.
- **Lists** come in pages: \`?limit=\` (100 unless said, 1000 at most), then \`?cursor=\` with the \`cursor\` of the page before.
- **\`Idempotency-Key\`** on a POST: for 24 hours the same key with the same body makes nothing twice and answers with what it
  made, as that is now; with another body it is 409.
- **Rate limit**: 120 requests a minute for a user (who sends no valid token: for an address), however many replicas and tokens
  there are. \`X-RateLimit-Limit\`, \`-Remaining\` and \`-Reset\` (seconds) are on every answer. \`API_RATE_LIMIT\` sets another limit.
- **Waiting**: \`POST /v1/sources\` is answered when the webhook URL is there, or after 5 seconds; \`GET /v1/runs/{name}?wait=60s\`
  when the run has ended, or after that time.
`;
