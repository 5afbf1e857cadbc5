import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** Stands in for AWS's Security Token Service, which IRSA asks for credentials; as much of it as the SDK needs. */
export interface Sts {
	endpoint: string;
	/** The web identity tokens that credentials were asked for with. */
	tokens: string[];
	close(): Promise<void>;
}

/** @param credentials are given to whoever asks, for `seconds`. */
export async function startSts(
	tls: { cert: string; key: string },
	credentials: { accessKeyId: string; secretAccessKey: string },
	seconds: number,
): Promise<Sts> {
	const tokens: string[] = [];
	const server = createServer(tls, async (request, response) => {
		// Who asks may be killed before all of it is said.
		const body = await text(request).catch(() => undefined);
		if (body === undefined) return;
		const form = new URLSearchParams(body);
		tokens.push(form.get("WebIdentityToken") ?? "");
		const expiration = new Date(Date.now() + seconds * 1000).toISOString();
		response.setHeader("content-type", "text/xml");
		// API reference of AssumeRoleWithWebIdentity, "Sample Response".
		response.end(`<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
  <AssumeRoleWithWebIdentityResult>
    <AssumedRoleUser><Arn>${form.get("RoleArn")}/session</Arn><AssumedRoleId>ID:session</AssumedRoleId></AssumedRoleUser>
    <Credentials>
      <AccessKeyId>${credentials.accessKeyId}</AccessKeyId>
      <SecretAccessKey>${credentials.secretAccessKey}</SecretAccessKey>
      <SessionToken>session-of-${tokens.length}</SessionToken>
      <Expiration>${expiration}</Expiration>
    </Credentials>
  </AssumeRoleWithWebIdentityResult>
</AssumeRoleWithWebIdentityResponse>`);
	});
	await new Promise<void>((resolve) =>
		server.listen(0, "127.0.0.1", () => resolve()),
	);
	const { port } = server.address() as AddressInfo;
	return {
		endpoint: `https://127.0.0.1:${port}`,
		tokens,
		close: () =>
			new Promise((resolve) => {
				server.close(() => resolve());
				server.closeAllConnections();
			}),
	};
}
