import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/**
 * A double of AWS's Security Token Service, which IRSA asks for credentials: as much of AssumeRoleWithWebIdentity as the SDK
 * needs (docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html).
 */
export interface Sts {
	endpoint: string;
	/** The web identity tokens of the requests. */
	tokens: string[];
	close(): Promise<void>;
}

/** @param credentials go to every caller and expire after `seconds`. */
export async function startSts(
	tls: { cert: string; key: string },
	credentials: { accessKeyId: string; secretAccessKey: string },
	seconds: number,
): Promise<Sts> {
	const tokens: string[] = [];
	const server = createServer(tls, async (request, response) => {
		// The caller may be killed in the middle of its request.
		const body = await text(request).catch(() => undefined);
		if (body === undefined) return;
		const form = new URLSearchParams(body);
		tokens.push(form.get("WebIdentityToken") ?? "");
		const expiration = new Date(Date.now() + seconds * 1000).toISOString();
		response.setHeader("content-type", "text/xml");
		// "Sample Response" of the API reference.
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
