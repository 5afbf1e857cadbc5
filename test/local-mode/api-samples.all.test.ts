// In make test: test/promises/you-are-told.laptop.test.ts
import { beforeAll, expect, test } from "vitest";
import { endpoints } from "../../api/endpoints.ts";
import {
	type LocalMode,
	openLocalMode,
} from "../support/servers/local-mode.ts";

let local: LocalMode;
/** By endpoint, in the order of the page. */
let commands: { id: string; command: string }[];

beforeAll(async () => {
	local = await openLocalMode("samples");
	const page = await local.run(
		"bash",
		"-c",
		'curl -sSf "$TIDEMILL_API_URL/docs"',
	);
	commands = [
		...page.matchAll(/<article id="(\w+)">.*?<pre class="curl">(.*?)<\/pre>/gs),
	].map(([, id, html]) => ({ id: id!, command: plain(html!) }));
});

test("the curl commands of the API's page work in its order, with the names that they create", async () => {
	expect(commands.map(({ id }) => id).toSorted()).toEqual(
		endpoints.map(({ id }) => id).toSorted(),
	);
	const roles = ["editor", "log-reader", "admin"].map(
		(role) =>
			`kubectl create rolebinding "${role}" --clusterrole="tidemill-${role}" --serviceaccount=samples:everything >/dev/null`,
	);
	const script = [
		"kubectl create serviceaccount everything >/dev/null",
		...roles,
		"export TIDEMILL_API_TOKEN=$(kubectl create token everything)",
		// The apiserver takes bindings up a moment later.
		'until curl -sSf -o /dev/null -H "Authorization: Bearer $TIDEMILL_API_TOKEN" "$TIDEMILL_API_URL/tokens"; do sleep 0.1; done 2>/dev/null',
		// Each request writes down what it was answered, apart from what bodies and messages say at the same time.
		"folder=$(mktemp -d)",
		`curl() { command curl -o "$folder/body" -w 'answered %{http_code} %{method} %{url}\\n' "$@" >>"$folder/answers"; if [ -e "$folder/body" ]; then cat "$folder/body"; rm "$folder/body"; fi; }`,
		...commands.flatMap(({ id, command }) => [
			`echo "for ${id}" >&2`,
			`${command} >&2 || true`,
		]),
		'echo >&2; cat "$folder/answers"',
	].join("\n");
	const said = await local.run("bash", "-c", `exec 2>&1\n${script}`);
	const answers = [...said.matchAll(/^answered (\d+) (.*)$/gm)].map(
		([, status, request]) => ({ status: Number(status), request }),
	);
	expect(answers.length).toBeGreaterThanOrEqual(endpoints.length);
	expect(
		answers.filter(({ status }) => status >= 400),
		said,
	).toEqual([]);
	expect(
		answers.filter(({ request }) => /\/logs$/.test(request!)),
	).toHaveLength(2);
});

function plain(html: string): string {
	return html
		.replaceAll("&lt;", "<")
		.replaceAll("&gt;", ">")
		.replaceAll("&quot;", '"')
		.replaceAll("&#39;", "'")
		.replaceAll("&amp;", "&");
}
