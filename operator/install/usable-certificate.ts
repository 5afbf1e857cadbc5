import { X509Certificate } from "node:crypto";
import type { KeyPair } from "./certificate.ts";

const dayMs = 86_400_000;

/**
 * Whether a certificate is signed by this authority (which may be new) and is valid for so many days more. By Node's own crypto: most
 * starts issue none, and need not load what does.
 */
export function isUsable(
	cert: string,
	authority: KeyPair | undefined,
	nowMs: number,
	daysLeft: number,
): boolean {
	const certificate = new X509Certificate(cert);
	if (certificate.validToDate.getTime() - nowMs < daysLeft * dayMs)
		return false;
	return (
		authority === undefined ||
		certificate.verify(new X509Certificate(authority.cert).publicKey)
	);
}
