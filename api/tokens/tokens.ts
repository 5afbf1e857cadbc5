import { setTimeout as delay } from "node:timers/promises";
import { label } from "../../crds/labels.ts";
import { kinds, type RoleBinding } from "../../packages/kube/kinds.ts";
import { hasRight } from "../caller/access.ts";
import { RequestError } from "../http/errors.ts";
import type { Caller, Handler } from "../http/endpoint.ts";
import { page } from "../resources/page.ts";
import { endToken, issueToken, requestToken } from "./issuance.ts";
import { objectName, readTokenRequest, tokenView } from "./token.ts";

/*
 * A token is that of a ServiceAccount of its own, so that it has its scope alone and is revoked alone. All that happens here
 * is done with the caller's token: Kubernetes says who may hand out tokens, and admission what else they may not do.
 */

/** `POST /v1/tokens`: 201 and the token, which no later answer has. */
export const createToken: Handler = async (
	caller,
	{ body, idempotency },
	reply,
) => {
	const wanted = readTokenRequest(body);
	reply.code(201).header("location", `/v1/tokens/${wanted.name}`);
	// A cache must not keep it (RFC 9111 §5.2.2.5).
	reply.header("cache-control", "no-store");
	// Tidemill doesn't keep tokens, so a repeated request gets none.
	if (idempotency?.created)
		return tokenView(await requireBinding(caller, wanted.name));
	const { binding, token } = await issueToken(caller, wanted, {
		issue: (name) => requestToken(caller, name, wanted.expiresInSeconds),
		check: (token) => untilPermitted(caller, token),
		idempotency,
	});
	return { ...tokenView(binding), token };
};

/** `GET /v1/tokens`. */
export const listTokens: Handler = ({ client, account }, { query }) =>
	page<RoleBinding>(
		{
			client,
			kind: kinds.roleBinding,
			namespace: account,
			selectors: { labelSelector: label.token },
		},
		query,
		(binding) => tokenView(binding),
	);

/** `GET /v1/tokens/{name}`. */
export const getToken: Handler = async (caller, { params }) =>
	tokenView(await requireBinding(caller, params.name!));

/** `DELETE /v1/tokens/{name}`: 204. Kubernetes refuses the token from then on. */
export const revokeToken: Handler = async (
	{ client, account },
	{ params },
	reply,
) => {
	const { name } = params;
	if (!(await endToken(client, account, name!))) throw notFound(name!, account);
	reply.code(204);
	return undefined;
};

async function requireBinding(
	{ client, account }: Caller,
	name: string,
): Promise<RoleBinding> {
	const found = await client.get<RoleBinding>(
		kinds.roleBinding,
		objectName(name),
		account,
	);
	if (found?.metadata.labels?.[label.token]) return found;
	throw notFound(name, account);
}

function notFound(name: string, account: string): RequestError {
	return new RequestError(
		"NotFound",
		`There is no token "${name}" in account "${account}".`,
	);
}

/** Which every scope permits. */
const everyScope = { verb: "list", resource: "pipelines" };

/**
 * The apiserver judges by what it has in memory, where a binding comes a moment later. A review that fails says nothing: the
 * token is valid all the same, and only this answer has it.
 */
async function untilPermitted(
	{ account, clientFor, settleWithinMs }: Caller,
	token: string,
): Promise<void> {
	const client = clientFor(token);
	for (
		const until = performance.now() + settleWithinMs;
		performance.now() < until &&
		!(await hasRight(client, account, everyScope).catch(() => false));
	)
		await delay(20);
}
