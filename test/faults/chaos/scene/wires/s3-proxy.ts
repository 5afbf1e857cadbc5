import {
	createServer,
	type IncomingMessage,
	request,
	type Server,
	type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import type { CutRecord } from "../../../../../ingest/archive/decide/cut.ts";
import type { Point, Traps, Verdict, When } from "./traps.ts";

/** How many objects a cut has, by `<stream>-<first>` as object keys end. Shared by the proxies of one data plane. */
export type ObjectCounts = Map<string, number>;

/** Stands between one archive and the S3 gateway, and steps on the traps for what is asked of the store. */
export class S3Proxy {
	readonly #part: string;
	readonly #target: number;
	readonly #traps: Traps;
	readonly #objectCounts: ObjectCounts;
	readonly #server: Server;
	/** Objects of a cut that this part has stored. */
	readonly #stored = new Map<string, number>();
	#turn: Promise<void> = Promise.resolve();

	/** @param target the gateway's port. @param part the archive that connects here. */
	constructor(
		part: string,
		target: number,
		traps: Traps,
		objectCounts: ObjectCounts,
	) {
		this.#part = part;
		this.#target = target;
		this.#traps = traps;
		this.#objectCounts = objectCounts;
		this.#server = createServer((incoming, outgoing) => {
			outgoing.on("error", () => undefined);
			this.#take(incoming, outgoing).catch(() => outgoing.destroy());
		});
	}

	async listen(): Promise<number> {
		await new Promise<void>((resolve) =>
			this.#server.listen(0, "127.0.0.1", resolve),
		);
		return (this.#server.address() as AddressInfo).port;
	}

	close(): void {
		this.#server.close();
		this.#server.closeAllConnections();
	}

	async #take(incoming: IncomingMessage, outgoing: ServerResponse) {
		const body = Buffer.concat(await incoming.toArray());
		const { method = "", url = "" } = incoming;
		const point = pointOf(method, url, body);
		if (!point) return this.#forward(incoming, body, outgoing);
		if (point === "object" && this.#traps.isSet("object", "between"))
			return this.#inTurn(() => this.#pass(point, incoming, body, outgoing));
		return this.#pass(point, incoming, body, outgoing);
	}

	/** One object at a time, so that there is a moment between any two. */
	async #inTurn(work: () => Promise<void>): Promise<void> {
		const before = this.#turn;
		const { promise, resolve } = Promise.withResolvers<void>();
		this.#turn = promise;
		await before;
		try {
			await work();
		} finally {
			resolve();
		}
	}

	async #pass(
		point: Point,
		incoming: IncomingMessage,
		body: Buffer,
		outgoing: ServerResponse,
	): Promise<void> {
		// The one that asked may have been killed meanwhile.
		if (incoming.socket.destroyed) return;
		if (await this.#stopsHere(point, "before", outgoing)) return;
		if (this.#traps.isSet(point, "during") && incoming.method === "PUT") {
			const half = body.subarray(0, body.length / 2);
			const ended = this.#forward(incoming, half, outgoing);
			await this.#stopsHere(point, "during", outgoing);
			outgoing.destroy();
			await ended;
			return;
		}
		await this.#forward(incoming, body, outgoing, async (status) => {
			const cut = cutOf(incoming.url!);
			if (point === "cut" && status === 200)
				this.#objectCounts.set(cut, groupsOf(body));
			if (point === "object" && status === 200) {
				const stored = (this.#stored.get(cut) ?? 0) + 1;
				this.#stored.set(cut, stored);
				const isMore = stored < (this.#objectCounts.get(cut) ?? 1);
				if (isMore && (await this.#stopsHere(point, "between", outgoing)))
					return "lose";
			}
			return this.#step(point, "after");
		});
	}

	/** Whether the request ends here, by a trap's verdict. */
	async #stopsHere(
		point: Point,
		when: When,
		outgoing: ServerResponse,
	): Promise<boolean> {
		const verdict = await this.#step(point, when);
		if (verdict === "go") return false;
		if (typeof verdict === "number") refuse(outgoing, verdict);
		else outgoing.destroy();
		return true;
	}

	#step(point: Point, when: When): Promise<Verdict> {
		const by = point === "load" ? "load" : this.#part;
		return this.#traps.step(point, when, by);
	}

	/**
	 * Asks the gateway and hands on its answer, unless `decide`, which sees the status first, says otherwise.
	 * Settles when the answer has gone out. With half a body, the gateway waits for the rest until `outgoing` is gone.
	 */
	#forward(
		incoming: IncomingMessage,
		body: Buffer,
		outgoing: ServerResponse,
		decide: (status: number) => Promise<Verdict> = async () => "go",
	): Promise<void> {
		return new Promise((resolve) => {
			const asked = request({
				host: "127.0.0.1",
				port: this.#target,
				method: incoming.method,
				path: incoming.url,
				// As they came: the signature is over some of them.
				headers: incoming.rawHeaders,
				agent: false,
			});
			const end = () => {
				asked.destroy();
				outgoing.destroy();
				resolve();
			};
			asked.on("error", end);
			outgoing.on("close", end);
			asked.on("response", async (answer) => {
				const content = await answer.toArray().catch(() => undefined);
				if (!content || !answer.complete) return end();
				const verdict = await decide(answer.statusCode!);
				if (verdict !== "go") return end();
				outgoing.writeHead(answer.statusCode!, answer.rawHeaders);
				outgoing.end(Buffer.concat(content), resolve);
			});
			if (body.length < Number(incoming.headers["content-length"] ?? 0))
				asked.write(body);
			else asked.end(body);
		});
	}
}

/** An error as S3 words it. */
function refuse(outgoing: ServerResponse, status: number): void {
	const code = status === 409 ? "ConditionalRequestConflict" : "SlowDown";
	outgoing.writeHead(status, { "content-type": "application/xml" });
	outgoing.end(
		`<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>A fault on purpose.</Message></Error>`,
	);
}

function pointOf(method: string, url: string, body: Buffer): Point | undefined {
	const [path = "", query = ""] = url.split("?");
	// No other object is deleted in a seed: all are too young for retention, and no Source is deleted.
	if (method === "POST" && /(^|&)delete\b/.test(query))
		return body.includes("/events/") ? "superseded" : undefined;
	if (method === "PUT" && path.includes("/cuts/")) return "cut";
	if (method === "PUT" && path.includes("/compactions/")) return "record";
	const isEvents = /\/(events|quarantine)\//.test(path);
	if (method === "PUT" && isEvents)
		return path.includes("/compacted-") ? "output" : "object";
	if (method !== "GET" || !isEvents) return undefined;
	// Presigned: archive's own requests have their signature in a header.
	return query.includes("X-Amz-Signature=") ? "load" : "input";
}

/** `<stream>-<first>`, of `…/cuts/<stream>/<first>.json` and of `…/<stream>-<first>.parquet`. */
function cutOf(url: string): string {
	const path = url.split("?")[0]!.replace(/\.[a-z]+$/, "");
	const [before = "", name = ""] = path.split("/").slice(-2);
	return path.includes("/cuts/") ? `${before}-${name}` : name;
}

function groupsOf(body: Buffer): number {
	return (JSON.parse(body.toString()) as CutRecord).groups.length;
}
