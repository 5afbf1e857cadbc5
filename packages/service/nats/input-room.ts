import type { NatsConnection } from "@nats-io/transport-node";
import { onReconnect } from "./connection.ts";

/** What is used of the client's inside, as version 3.4 has it. `ma` and `msgBuf` are the client's names. */
interface Client {
	protocol: {
		/** Another one after a reconnect. */
		parser: {
			parse(chunk: Uint8Array): void;
			/** The message whose payload has begun. */
			ma: { size: number };
			/** What has come of its payload, unless it came in one chunk. */
			msgBuf: PayloadBuffer | undefined;
		};
	};
}

interface PayloadBuffer {
	length: number;
	capacity: number;
	grow(bytes: number): void;
	bytes(options: { copy: false }): Uint8Array;
}

/** Each holds one message, and nothing else. */
const rooms = new WeakSet<ArrayBufferLike>();

/**
 * Makes room for the whole of a message when its first part has come. By itself the client doubles its buffer each time that it is
 * full: a message of 4 MB takes 16 MB of new memory and is copied three times.
 */
export function makeRoomForInput(connection: NatsConnection): void {
	const { protocol } = connection as unknown as Client;
	const extend = () => {
		const { parser } = protocol;
		const parse = parser.parse.bind(parser);
		parser.parse = (chunk) => {
			parse(chunk);
			const { ma, msgBuf } = parser;
			if (!msgBuf || msgBuf.capacity >= ma.size) return;
			msgBuf.grow(ma.size - msgBuf.length);
			rooms.add(msgBuf.bytes({ copy: false }).buffer);
		};
	};
	extend();
	// Messages before that are read without a room of their own.
	void onReconnect(connection, extend);
}

/**
 * Frees a message's memory at once, if it has a room of its own: V8 would collect it much later, and mark its whole heap to find it.
 * Whoever reads the message or a view of it afterwards gets a TypeError.
 */
export function freeInput({ buffer }: Uint8Array): void {
	if (rooms.has(buffer)) (buffer as ArrayBuffer).transfer(0);
}
