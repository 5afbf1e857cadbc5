import type { TLSSocket } from "node:tls";

/** A sentence if the server's certificate ends within 14 days; undefined otherwise. */
export function certificateWarning(
	socket: Pick<TLSSocket, "getPeerCertificate">,
	server: string,
	nowMs = Date.now(),
): string | undefined {
	const { valid_to: end } = socket.getPeerCertificate();
	const leftMs = Date.parse(end) - nowMs;
	return leftMs < 14 * 86_400_000
		? `The certificate of ${server} ends on ${new Date(Date.parse(end)).toISOString().slice(0, 10)}. Renew it.`
		: undefined;
}
