import { connect, type Socket } from "node:net";

interface Behaviour {
	/** What a connection sends at once. */
	first: string;
	/** What it sends again and again. */
	again?: string;
}

const trickled =
	"POST /hooks/unknown HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n";
const get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";

/** What a stranger can do with connections alone. Each behaviour holds a connection for as long as the server lets it. */
export const behaviours = {
	"nothing at all": { first: "" },
	"half a head": { first: "POST / HTTP/1.1\r\nHost: h\r\n" },
	"a head that trickles": { first: "GET / HTTP/1.1\r\n", again: "x: y\r\n" },
	"a body that trickles": { first: trickled, again: " " },
	"all of a body but its last bytes": {
		first: `${trickled.replace("100000", "100")}{}`,
	},
	"a TLS handshake that never ends": {
		first: "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
	},
	"one request, and then nothing": { first: get },
	"one request after another": { first: get, again: get },
	"pipelined requests whose answers nobody reads": { first: get.repeat(200) },
} satisfies Record<string, Behaviour>;

export type BehaviourName = keyof typeof behaviours;

export interface FloodOrder {
	port: number;
	behaviour: BehaviourName;
	connections: number;
	/** Each is an address of the loopback: networks of their own. */
	addresses: string[];
	/** How long after its end a connection is opened again. */
	reopenAfterMs?: number;
	/** Between two pieces of what trickles. */
	trickleMs?: number;
}

/** Holds as many connections as the server lets it, and opens each again that ends. Reads no answer. */
export class Flood {
	/** How often a connection was opened. */
	opened = 0;
	readonly #order: Required<FloodOrder>;
	readonly #sockets = new Set<Socket>();
	readonly #timer: NodeJS.Timeout;
	#isOver = false;

	constructor(order: FloodOrder) {
		this.#order = { reopenAfterMs: 50, trickleMs: 200, ...order };
		for (let i = 0; i < order.connections; i++) this.#open(i);
		const { again }: Behaviour = behaviours[order.behaviour];
		this.#timer = setInterval(() => {
			if (again) for (const socket of this.#sockets) socket.write(again);
		}, this.#order.trickleMs);
	}

	/** Those that the server holds. */
	get held(): number {
		return this.#sockets.size;
	}

	stop(): void {
		this.#isOver = true;
		clearInterval(this.#timer);
		for (const socket of this.#sockets) socket.destroy();
	}

	#open(index: number): void {
		if (this.#isOver) return;
		const { port, addresses, behaviour, reopenAfterMs } = this.#order;
		const socket = connect({
			port,
			host: "127.0.0.1",
			localAddress: addresses[index % addresses.length]!,
		});
		if (behaviour.startsWith("pipelined")) socket.pause();
		else socket.resume();
		socket.once("connect", () => {
			this.opened++;
			this.#sockets.add(socket);
			socket.write(behaviours[behaviour].first, "latin1");
		});
		socket.on("error", () => undefined);
		socket.once("close", () => {
			this.#sockets.delete(socket);
			setTimeout(() => this.#open(index), reopenAfterMs);
		});
	}
}
