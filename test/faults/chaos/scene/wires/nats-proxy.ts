import {
	type AddressInfo,
	connect,
	createServer,
	type Server,
	type Socket,
} from "node:net";
import { bucket } from "../../../../../packages/contracts/nats.ts";
import type { Clock } from "../clock.ts";
import { type NatsMessage, NatsMessages } from "./nats-messages.ts";
import type { StoredFrames } from "./stored-frames.ts";
import type { Point, Traps, Verdict } from "./traps.ts";

/** Stands between one part of the data plane and NATS, and steps on the traps for what goes over the wire. */
export class NatsProxy {
	readonly #part: string;
	readonly #target: number;
	readonly #traps: Traps;
	readonly #clock: Clock;
	readonly #frames: StoredFrames;
	readonly #server: Server;
	readonly #sockets = new Set<Socket>();

	/** @param target NATS's port. @param part the one that connects here. @param frames gets those that NATS acknowledges. */
	constructor(
		part: string,
		target: number,
		{
			traps,
			clock,
			frames,
		}: { traps: Traps; clock: Clock; frames: StoredFrames },
	) {
		this.#part = part;
		this.#target = target;
		this.#traps = traps;
		this.#clock = clock;
		this.#frames = frames;
		this.#server = createServer((client) => this.#connect(client));
	}

	async listen(): Promise<number> {
		await new Promise<void>((resolve) =>
			this.#server.listen(0, "127.0.0.1", resolve),
		);
		return (this.#server.address() as AddressInfo).port;
	}

	close(): void {
		this.#server.close();
		for (const socket of this.#sockets) socket.destroy();
	}

	#connect(client: Socket): void {
		const server = connect(this.#target, "127.0.0.1");
		for (const socket of [client, server]) {
			this.#sockets.add(socket);
			socket.setNoDelay();
			socket.on("error", () => undefined);
			socket.on("close", () => {
				this.#sockets.delete(socket);
				client.destroy();
				server.destroy();
			});
		}
		/** Where the server's answer to a step will come. */
		const inboxes = new Map<
			string,
			{ point: Point; frame?: ReturnType<StoredFrames["sent"]> }
		>();
		void this.#relay(client, server, (message) => {
			const { verb, words } = message;
			const point =
				verb === "PUB" || verb === "HPUB" ? pointOf(words[0]!) : undefined;
			if (!point) return "go";
			// PUB subject [reply] size; HPUB subject [reply] header-size size.
			const reply = words.length === (verb === "PUB" ? 3 : 4) && words[1];
			const frame = point === "publish" && this.#frames.sent(message);
			if (reply) inboxes.set(reply, { point, ...(frame && { frame }) });
			return this.#traps.step(point, "before", this.#part);
		});
		void this.#relay(server, client, (message) => {
			const { verb, words } = message;
			if (verb !== "MSG" && verb !== "HMSG") return "go";
			const asked = inboxes.get(words[0]!);
			if (!asked) return "go";
			inboxes.delete(words[0]!);
			const { point, frame } = asked;
			if (frame) this.#frames.answered(frame, message, this.#clock.now());
			return this.#traps.step(point, "after", this.#part);
		});
	}

	/** Hands on one direction of a connection, message by message. */
	async #relay(
		from: Socket,
		to: Socket,
		decide: (message: NatsMessage) => Verdict | Promise<Verdict>,
	): Promise<void> {
		const messages = new NatsMessages();
		try {
			for await (const chunk of from)
				for (const message of messages.read(chunk)) {
					const verdict = await decide(message);
					if (verdict === "lose") return;
					if (verdict !== "swallow") to.write(this.#clock.shifted(message));
				}
		} catch {
			// The connection broke.
		} finally {
			from.destroy();
			to.destroy();
		}
	}
}

function pointOf(subject: string): Point | undefined {
	if (subject.startsWith("tidemill.frames.")) return "publish";
	if (subject.startsWith("$JS.API.STREAM.PURGE.tidemill-frames-"))
		return "purge";
	return subject.startsWith(`$KV.${bucket.objectsDone}.`)
		? "objects-done"
		: undefined;
}
