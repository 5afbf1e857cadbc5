import { createHash, createHmac } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

/** The keys that the gateway knows. */
export interface GatewayKeys {
	region: string;
	accessKeyId: string;
	secretAccessKey: string;
}

/**
 * The gateway has no sessions: of a request with a session token, the headers as its own user would have sent them, signed
 * again (AWS Signature Version 4, "Create a signed AWS API request").
 */
export function withoutSession(
	{
		method,
		url,
		headers,
	}: { method: string; url: URL; headers: IncomingHttpHeaders },
	{ region, accessKeyId, secretAccessKey }: GatewayKeys,
): IncomingHttpHeaders {
	const {
		"x-amz-security-token": token,
		authorization = "",
		...others
	} = headers;
	if (token === undefined) return headers;
	const signed = (/SignedHeaders=([^,]+)/.exec(authorization)?.[1] ?? "")
		.split(";")
		.filter((name) => name !== "x-amz-security-token");
	const query = url.search
		.slice(1)
		.split("&")
		.filter(Boolean)
		.map((pair) => (pair.includes("=") ? pair : `${pair}=`));
	const canonical = [
		method,
		url.pathname,
		query.sort().join("&"),
		...signed.map((name) => `${name}:${String(others[name]).trim()}`),
		"",
		signed.join(";"),
		others["x-amz-content-sha256"],
	].join("\n");
	const time = String(others["x-amz-date"]);
	const scope = [time.slice(0, 8), region, "s3", "aws4_request"];
	const text = [
		"AWS4-HMAC-SHA256",
		time,
		scope.join("/"),
		createHash("sha256").update(canonical).digest("hex"),
	].join("\n");
	const key = scope.reduce<string | Buffer>(hmac, `AWS4${secretAccessKey}`);
	return {
		...others,
		authorization: `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope.join("/")}, SignedHeaders=${signed.join(";")}, Signature=${hmac(key, text).toString("hex")}`,
	};
}

function hmac(key: string | Buffer, text: string): Buffer {
	return createHmac("sha256", key).update(text).digest();
}
