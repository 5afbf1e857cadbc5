import { readFileSync } from "node:fs";
import type { Agent } from "node:http";
import type { Agent as HttpsAgent } from "node:https";
import { createSecureContext } from "node:tls";
// Types only: see transport.ts.
import type { Cluster } from "@kubernetes/client-node";
import { KubeClient } from "./client.ts";
import type { KubeClientOptions } from "./client-options.ts";
import type { ClusterAccess } from "./transport.ts";
import { http, https, keepAlive } from "./transport.ts";

/**
 * Clients of one apiserver that act with a caller's bearer token and nothing else. They share kept connections: the token
 * travels with each request.
 */
export function tokenClients(
	cluster: Cluster,
	options: KubeClientOptions = {},
): (token: string) => KubeClient {
	const server = new URL(cluster.server);
	const agent = agentFor(cluster, server);
	return (token) => {
		const access: ClusterAccess = {
			server,
			sign(request) {
				request.agent = agent;
				request.headers = {
					...request.headers,
					authorization: `Bearer ${token}`,
				};
			},
		};
		return KubeClient.at(access, options);
	};
}

/** @param pair What the client shows of itself, as PEM. */
export function agentFor(
	{ caFile, caData, skipTLSVerify, tlsServerName, proxyUrl }: Cluster,
	{ protocol }: URL,
	pair?: { cert: Buffer; key: Buffer },
): Agent {
	const proxyEnv = { HTTP_PROXY: proxyUrl, HTTPS_PROXY: proxyUrl };
	const options = { ...keepAlive, ...(proxyUrl && { proxyEnv }) };
	if (protocol === "http:") return new http.Agent(options);
	const agent = new https.Agent({
		...options,
		rejectUnauthorized: !skipTLSVerify,
		...(tlsServerName && { servername: tlsServerName }),
		// Parsed once: an agent puts the text of a `ca` into the key of its connection pool with every request.
		...(caData && {
			secureContext: createSecureContext({
				ca: Buffer.from(caData, "base64"),
				...pair,
			}),
		}),
	});
	if (caFile) rereadAuthority(agent, caFile);
	return agent;
}

/** Reads the file for each connection, because a cluster renews its authority while we run. */
function rereadAuthority(agent: HttpsAgent, caFile: string): void {
	const connect = agent.createConnection.bind(agent);
	agent.createConnection = (options, callback) =>
		connect({ ...options, ca: readFileSync(caFile) }, callback);
}
