import type { NatsConnection } from "@nats-io/transport-node";
import {
	type ErasureRequest,
	erasurePlaces,
	noticeIntervalMs,
	type ReleaseRequest,
} from "../../../packages/contracts/archive.ts";
import type {
	ManifestAnswer,
	ManifestRequest,
	ResultAnswer,
} from "../../../packages/contracts/manifest.ts";
import {
	erasureSubject,
	manifestSubject,
	releaseSubject,
	resultSubject,
} from "../../../packages/contracts/nats.ts";
import { addDays, utcDate } from "../../../packages/contracts/utc-date.ts";
import { rfc3339 } from "../../../packages/kube/resource.ts";

type Awaitable<T> = T | Promise<T>;

const today = utcDate(Date.now());

export const manifest = (question: ManifestRequest): ManifestAnswer => ({
	ok: true,
	url: `http://s3/runs/${question.run}.json?signature=secret`,
	snapshotTime: rfc3339(Date.now()),
	closedThrough: addDays(today, -1),
	extent: question.extent,
	firstEventDate: addDays(today, -2),
	dates: { start: addDays(today, -2), end: today },
	expiresAt: rfc3339(Date.now() + 3_600_000),
});

/** An archive that a test plays: it writes down what it is asked, and answers what the test says. */
export class PlayedArchive {
	/** For which manifests it was asked. */
	questions: ManifestRequest[] = [];
	/** What it answers, saying meanwhile that it works on it; nothing for undefined, as when it has died. */
	answer: (question: ManifestRequest) => Awaitable<ManifestAnswer | undefined> =
		manifest;
	/** What it was asked to release. */
	releases: ReleaseRequest[] = [];
	/** What it was asked to erase. */
	erasures: ErasureRequest[] = [];
	/** What it says that a Job left. */
	stored: ResultAnswer = { ok: true };
	/** Of the questions that it still works on. */
	readonly #ends = new Set<() => void>();

	/** @param connection as archive's user. */
	async listen(connection: NatsConnection): Promise<void> {
		connection.subscribe(manifestSubject(0), {
			callback: (_, message) => {
				const question = message.json<ManifestRequest>();
				this.questions.push(question);
				void (async () => {
					const notice = JSON.stringify({ working: true });
					const notices = setInterval(
						() => message.respond(notice),
						noticeIntervalMs,
					);
					this.#ends.add(() => clearInterval(notices));
					const reply = await this.answer(question);
					clearInterval(notices);
					if (reply) message.respond(JSON.stringify(reply));
				})();
			},
		});
		connection.subscribe(resultSubject(0), {
			callback: (_, message) => {
				message.respond(JSON.stringify(this.stored));
			},
		});
		connection.subscribe(releaseSubject(0), {
			callback: (_, message) => {
				this.releases.push(message.json<ReleaseRequest>());
				const dates = [{ date: today, events: 2 }];
				message.respond(JSON.stringify({ ok: true, dates }));
			},
		});
		connection.subscribe(erasureSubject(0), {
			callback: (_, message) => {
				this.erasures.push(message.json<ErasureRequest>());
				const none = erasurePlaces.map((place) => [place, 0]);
				const places = { ...Object.fromEntries(none), Events: 2 };
				const time = rfc3339(Date.now());
				message.respond(JSON.stringify({ ok: true, places, time }));
			},
		});
		await connection.flush();
	}

	/** After each test: nothing is under way, and it is as it began. */
	forget(): void {
		for (const end of this.#ends) end();
		this.#ends.clear();
		this.questions = [];
		this.releases = [];
		this.erasures = [];
		this.answer = manifest;
		this.stored = { ok: true };
	}
}
