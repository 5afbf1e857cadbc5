import { setTimeout as delay } from "node:timers/promises";
import { annotation, label } from "../../crds/labels.ts";
import {
	hasReason,
	type KubeClient,
} from "../../packages/kube/client/client.ts";
import {
	kinds,
	type RoleBinding,
	type ServiceAccount,
} from "../../packages/kube/kinds.ts";
import { resourcePath } from "../../packages/kube/resource.ts";
import { hasRight } from "../caller/account.ts";
import {
	type ApiRequest,
	type Handler,
	type IdempotentRequest,
	writeOptions,
} from "../http/endpoint.ts";
import { RequestError } from "../http/errors.ts";
import { createOnce, requestAnnotation } from "../http/idempotency-key.ts";
import { page } from "./page.ts";
import {
	bindingOf,
	labelsOf,
	objectName,
	readTokenRequest,
	type TokenRequest,
	tokenView,
} from "./token.ts";

/*
 * A token is that of a ServiceAccount of its own, so that it has its scope alone and is revoked alone. All that happens here
 * is done with the caller's token: Kubernetes says who may hand out tokens, and admission what else they may not do.
 */

/** `POST /v1/tokens`: 201 and the token, which no later answer has. */
export const createToken: Handler = async (request, reply) => {
	const { body, idempotency } = request;
	const wanted = readTokenRequest(body);
	reply.code(201).header("location", `/v1/tokens/${wanted.name}`);
	// Tidemill doesn't keep tokens, so a repeated request gets none.
	if (idempotency?.created)
		return tokenView(await requireBinding(request, wanted.name));
	const { binding, token } = await issueToken(request, wanted, {
		issue: (name) => requestToken(request, name, wanted.expiresInSeconds),
		check: (token) => untilPermitted(request, token),
		idempotency,
	});
	return { ...tokenView(binding), token };
};

/** `GET /v1/tokens`. */
export const listTokens: Handler = ({ client, account, query }) =>
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
export const getToken: Handler = async (request) =>
	tokenView(await requireBinding(request, request.params.name!));

/** `DELETE /v1/tokens/{name}`: 204. Kubernetes refuses the token from then on. */
export const revokeToken: Handler = async (
	{ client, account, params },
	reply,
) => {
	const { name } = params;
	if (!(await endToken(client, account, name!))) throw notFound(name!, account);
	reply.code(204);
	return undefined;
};

async function requireBinding(
	{ client, account }: ApiRequest,
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
 * The apiserver decides by what it has in memory, where a binding comes a moment later. A review that fails says nothing: the
 * token is valid all the same, and only this answer has it.
 */
async function untilPermitted(
	{ account, server, settleWithinMs }: ApiRequest,
	token: string,
): Promise<void> {
	const client = server.clientFor(token);
	for (
		const until = performance.now() + settleWithinMs;
		performance.now() < until &&
		!(await hasRight(client, account, everyScope).catch(() => false));
	)
		await delay(20);
}

type Issuer = Pick<ApiRequest, "client" | "account">;

interface Issue {
	/** Asks for a token of this ServiceAccount, and says when it expires. */
	issue(serviceAccount: string): Promise<{ token: string; expires: string }>;
	/** Runs before the token is handed out. If it throws, nothing of the token is left. */
	check?(token: string): Promise<void>;
	idempotency?: IdempotentRequest | undefined;
}

/**
 * Makes a ServiceAccount, a token of it and the binding that permits its scope, for the REST API and the command line alike.
 * Throws a 409 {@link RequestError} if there is a token of that name.
 */
export async function issueToken(
	issuer: Issuer,
	wanted: Pick<TokenRequest, "name" | "scope">,
	{ issue, check, idempotency }: Issue,
): Promise<{ binding: RoleBinding; token: string }> {
	const { client, account: namespace } = issuer;
	const metadata = {
		name: objectName(wanted.name),
		namespace,
		labels: labelsOf(wanted.scope),
		...requestAnnotation(idempotency),
	};
	const serviceAccount = await createOnce<ServiceAccount>(
		client,
		kinds.serviceAccount,
		metadata,
		idempotency,
		() =>
			client.create<ServiceAccount>(
				kinds.serviceAccount,
				{ metadata, automountServiceAccountToken: false },
				writeOptions,
			),
	).catch((error) => {
		if (!hasReason(error, "AlreadyExists")) throw error;
		throw new RequestError(
			"Conflict",
			`There already is a token "${wanted.name}". Choose another name, or revoke that one first.`,
		);
	});
	try {
		const { token, expires } = await issue(metadata.name);
		const binding = await bind(
			issuer,
			bindingOf(serviceAccount, wanted.scope, {
				...metadata.annotations,
				[annotation.tokenExpires]: expires,
			}),
			idempotency,
		);
		await check?.(token);
		return { binding, token };
	} catch (error) {
		// Nothing else could free the name: no list shows a ServiceAccount without a binding. A request with a key is repeated.
		if (!idempotency)
			await client
				.delete(kinds.serviceAccount, metadata.name, namespace, {
					uid: serviceAccount.metadata.uid,
				})
				.catch(() => undefined);
		throw error;
	}
}

/** Ends a token. Returns whether there was one. */
export async function endToken(
	client: KubeClient,
	account: string,
	token: string,
): Promise<boolean> {
	const name = objectName(token);
	const found = await client.get<ServiceAccount>(
		kinds.serviceAccount,
		name,
		account,
	);
	const binding = await client.get(kinds.roleBinding, name, account);
	// A binding is listed without its ServiceAccount, too.
	if (![found, binding].some((each) => each?.metadata.labels?.[label.token]))
		return false;
	if (found)
		await client.delete(kinds.serviceAccount, name, account, {
			uid: found.metadata.uid!,
		});
	// Garbage collection would do it later.
	if (binding)
		await client.delete(kinds.roleBinding, name, account, {
			uid: binding.metadata.uid!,
		});
	return true;
}

/** authentication.k8s.io/v1 TokenRequest. The cluster may allow less time than was asked for. */
export async function requestToken(
	{ client, account }: Issuer,
	serviceAccount: string,
	expirationSeconds: number,
): Promise<{ token: string; expires: string }> {
	const path = resourcePath(
		kinds.serviceAccount,
		account,
		serviceAccount,
		"token",
	);
	const body = {
		apiVersion: "authentication.k8s.io/v1",
		kind: "TokenRequest",
		spec: { expirationSeconds },
	};
	const { status } = (await client.raw("POST", path, { body })) as {
		status: { token: string; expirationTimestamp: string };
	};
	return { token: status.token, expires: status.expirationTimestamp };
}

/** A binding of an earlier attempt says when that attempt's token expires, and nobody has it: it gives way. */
async function bind(
	{ client, account }: Issuer,
	wanted: ReturnType<typeof bindingOf>,
	idempotency: IdempotentRequest | undefined,
): Promise<RoleBinding> {
	const { name, annotations } = wanted.metadata;
	const create = () =>
		client.create<RoleBinding>(kinds.roleBinding, wanted, writeOptions);
	const binding = await createOnce<RoleBinding>(
		client,
		kinds.roleBinding,
		{ name, namespace: account },
		idempotency,
		create,
	);
	const expires = annotation.tokenExpires;
	if (binding.metadata.annotations?.[expires] === annotations?.[expires])
		return binding;
	await client.delete(kinds.roleBinding, name, account, {
		uid: binding.metadata.uid,
	});
	return create();
}
