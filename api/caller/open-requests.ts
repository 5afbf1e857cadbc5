import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { FairRoom } from "../../packages/fair/fair-room.ts";
import type { ConnectionLimits } from "../http/connections.ts";
import { RequestError } from "../http/errors.ts";

/** A body or an answer that is smaller isn't counted: its place bounds it. */
const smallBytes = 64 * 1024;

/**
 * Shares the places for connections between those who have a valid token, because a request holds its place for as long as it is sent,
 * waits, or follows a log. One alone may have half of all. What large requests and answers take of memory is shared alike: a body may
 * come slowly, and whoever reads an answer slowly keeps it in memory.
 */
export class OpenRequests {
	readonly #places: FairRoom;
	readonly #large: FairRoom;
	/** Of one subject: only what its writes were answered can be more. */
	readonly #most: number;
	readonly #maxBodyBytes: number;
	readonly #subjects = new WeakMap<FastifyRequest, string>();

	/** @param maxBodyBytes of a body that doesn't say its length. */
	constructor(
		{
			maxConnections,
			maxLargeBytes,
		}: Pick<ConnectionLimits, "maxConnections" | "maxLargeBytes">,
		maxBodyBytes: number,
	) {
		// The last place is somebody's, too.
		this.#places = new FairRoom(maxConnections + 1);
		this.#large = new FairRoom(maxLargeBytes);
		this.#most = maxLargeBytes / 2;
		this.#maxBodyBytes = maxBodyBytes;
	}

	/**
	 * Takes a place for the subject, an account or a user, and what the body needs, until the answer has been taken. Throws a
	 * {@link RequestError} beyond the subject's share.
	 */
	open(request: FastifyRequest, reply: FastifyReply, subject: string): void {
		const { "content-length": length, "transfer-encoding": encoding } =
			request.headers;
		const body = encoding ? this.#maxBodyBytes : Number(length ?? 0);
		this.#subjects.set(request, subject);
		this.#take(this.#places, 1, subject, reply);
		const bytes = countedBytes(Math.min(body, this.#maxBodyBytes));
		if (bytes > 0) this.#take(this.#large, bytes, subject, reply);
		else if (this.#large.takenBy(subject) > this.#most)
			throw this.#refused(this.#large, subject);
	}

	/** Counts the large answers of what is open. What a write did is told in any case. */
	countAnswers(api: FastifyInstance): void {
		api.addHook("onSend", async (request, reply, answer) => {
			const subject = this.#subjects.get(request);
			if (subject === undefined) return;
			if (typeof answer !== "string" && !Buffer.isBuffer(answer)) return;
			const bytes = countedBytes(answer.length);
			if (bytes === 0) return;
			if (/^(GET|HEAD)$/.test(request.method))
				this.#take(this.#large, bytes, subject, reply);
			else {
				this.#large.takeAnyway(subject, bytes);
				whenSent(reply, () => this.#large.giveBack(subject, bytes));
			}
		});
	}

	#take(
		room: FairRoom,
		size: number,
		subject: string,
		reply: FastifyReply,
	): void {
		if (!room.take(subject, size)) throw this.#refused(room, subject);
		whenSent(reply, () => room.giveBack(subject, size));
	}

	#refused(room: FairRoom, subject: string): RequestError {
		const open = this.#places.takenBy(subject);
		if (room === this.#large && open === 1) return refused(tooLarge);
		const requests = open === 1 ? "request is" : "requests are";
		return refused(
			`${open} ${requests} open; all tokens of an account count together. Let some of them end, such as followed logs and large answers, and retry.`,
		);
	}
}

function countedBytes(bytes: number): number {
	return bytes > smallBytes ? bytes : 0;
}

/** The answer is complete, or the client has disconnected. */
function whenSent({ raw }: FastifyReply, then: () => void): void {
	if (raw.closed) then();
	else raw.once("close", then);
}

/** Nothing else of the subject is open. */
const tooLarge =
	"This request's body or answer is larger than an account may have now. Ask for less at once, such as with a smaller limit, or retry.";

function refused(message: string): RequestError {
	return new RequestError("RateLimited", message, {
		headers: { "retry-after": "1" },
	});
}
