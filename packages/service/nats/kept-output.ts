import type { Socket } from "node:net";
import type { NatsConnection } from "@nats-io/transport-node";

/** What is used of the client's inside, as version 3.4 has it. */
interface Client {
	protocol: {
		/** What the client sends next. */
		outbound: { buffers: Uint8Array[]; byteLength: number; pack(): void };
		/** Another one after a reconnect. */
		transport: { socket: Socket | undefined };
	};
}

/** A larger output, as what waited for a reconnect, is joined in memory of its own. */
const maxKeptBytes = 16 * 2 ** 20;

/**
 * Lets the client join what it sends in memory that it keeps. By itself it takes new memory each time, outside V8's heap, and
 * after 64 MiB of that V8 marks the whole heap to find what is free.
 */
export function keepOutput(connection: NatsConnection): void {
	const { protocol } = connection as unknown as Client;
	const { outbound } = protocol;
	const joinAnew = outbound.pack.bind(outbound);
	let kept = Buffer.alloc(0);
	outbound.pack = () => {
		const { buffers, byteLength } = outbound;
		const { socket } = protocol.transport;
		// The socket may still read what it was given last. A connection that was just lost has none.
		const isFree = socket?.writableLength === 0;
		if (!isFree || byteLength > maxKeptBytes) joinAnew();
		else if (buffers.length > 1) {
			if (kept.length < byteLength)
				kept = Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(byteLength)));
			let at = 0;
			for (const buffer of buffers.splice(0)) {
				kept.set(buffer, at);
				at += buffer.length;
			}
			buffers.push(kept.subarray(0, byteLength));
		}
	};
}
