import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls, type DetailedPeerCertificate } from "node:tls";
// prom-client: the field's metrics library, with the text format and defaults for Node.
import { Gauge, type Registry } from "prom-client";

/** A server whose certificate this process depends on. */
export interface TlsServer {
	host: string;
	port: number;
	/** NATS speaks first, in clear text, and the client then begins TLS (its protocol's INFO). */
	greets: boolean;
	/** PEM certificates of its authorities, beside the public ones. */
	authorities?: string | undefined;
}

/** A certificate lives for days. */
const lookEveryMs = 10 * 60_000;
/** A reading of the metrics waits for a server no longer than this. */
const timeoutMs = 1_000;

/**
 * Adds when the certificates expire that the servers show. That is what counts: a Secret may have a newer one that the server
 * hasn't read.
 */
export function observeCertificates(
	registry: Registry,
	servers: readonly TlsServer[],
	now: () => number = () => performance.now(),
): void {
	let looked: { atMs: number; expiries: Map<string, number> } | undefined;
	const look = async () => {
		const expiries = new Map(looked?.expiries);
		await Promise.all(
			servers.map(async (server) => {
				// A server that is away keeps what it showed last; other metrics tell that it is away.
				const expiryMs = await expiryOf(server).catch(() => undefined);
				if (expiryMs !== undefined)
					expiries.set(`${server.host}:${server.port}`, expiryMs);
			}),
		);
		looked = { atMs: now(), expiries };
		return looked;
	};
	new Gauge({
		name: "tidemill_certificate_expiry_timestamp_seconds",
		help: "When the first certificate expires of the chain that a server shows, in seconds since 1970. Operator tells it of NATS, archive of the object store, each only if it uses TLS.",
		labelNames: ["server"],
		registers: [registry],
		async collect() {
			if (servers.length === 0) return;
			const isFresh = looked && now() - looked.atMs < lookEveryMs;
			const { expiries } = isFresh ? looked! : await look();
			this.reset();
			for (const [server, expiryMs] of expiries)
				this.set({ server }, expiryMs / 1000);
		},
	});
}

/** When the first certificate of the server's chain expires, in milliseconds since 1970. Sends nothing but the handshake. */
async function expiryOf({
	host,
	port,
	greets,
	authorities,
}: TlsServer): Promise<number> {
	const tcp = connectTcp({ host, port });
	const signal = AbortSignal.timeout(timeoutMs);
	const end = () => tcp.destroy(new Error(`${host}:${port} doesn't answer`));
	signal.addEventListener("abort", end);
	try {
		await once(tcp, greets ? "data" : "connect");
		const tls = connectTls({
			socket: tcp,
			// An expired certificate is to be told, too. Nothing is sent to the server.
			rejectUnauthorized: false,
			...(authorities !== undefined && { ca: authorities }),
			// RFC 6066 §3: no addresses.
			...(!/^[\d.]+$|:/.test(host) && { servername: host }),
		});
		await once(tls, "secureConnect");
		const expiryMs = firstExpiryMs(tls.getPeerCertificate(true));
		tls.destroy();
		return expiryMs;
	} finally {
		signal.removeEventListener("abort", end);
		tcp.destroy();
	}
}

function once(socket: Socket, event: string): Promise<void> {
	return new Promise((resolve, reject) => {
		socket.once(event, () => resolve());
		socket.once("error", reject);
		socket.once("close", () => reject(new Error("the connection closed")));
	});
}

/** An authority signs itself, which ends the chain. */
function firstExpiryMs(leaf: DetailedPeerCertificate): number {
	const seen = new Set<DetailedPeerCertificate>();
	let first = Number.POSITIVE_INFINITY;
	for (
		let each: DetailedPeerCertificate | undefined = leaf;
		each?.valid_to && !seen.has(each);
		each = each.issuerCertificate
	) {
		seen.add(each);
		first = Math.min(first, Date.parse(each.valid_to));
	}
	if (!Number.isFinite(first)) throw new Error("the server has no certificate");
	return first;
}
