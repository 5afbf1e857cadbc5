import { stringify } from "yaml";

/**
 * A self-contained kubeconfig. Without `user` it holds only the server and its authority, for a client with tokens of its
 * own.
 */
export function kubeconfig(cluster: {
	name: string;
	server: string;
	/** PEM texts. */
	ca: string;
	user?: { name: string } & ({ cert: string; key: string } | { token: string });
	namespace?: string;
}): string {
	const { name, user, namespace } = cluster;
	return stringify({
		apiVersion: "v1",
		kind: "Config",
		clusters: [
			{
				name,
				cluster: {
					server: cluster.server,
					"certificate-authority-data": base64(cluster.ca),
				},
			},
		],
		users: user
			? [
					{
						name: user.name,
						user:
							"token" in user
								? { token: user.token }
								: {
										"client-certificate-data": base64(user.cert),
										"client-key-data": base64(user.key),
									},
					},
				]
			: [],
		contexts: [
			{
				name,
				context: {
					cluster: name,
					...(user && { user: user.name }),
					...(namespace && { namespace }),
				},
			},
		],
		"current-context": name,
	});
}

function base64(text: string): string {
	return Buffer.from(text).toString("base64");
}
