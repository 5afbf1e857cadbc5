import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { Route } from "../../contracts/route.ts";
import type { Budget } from "./admission/budget.ts";
import type { KeyOutcome } from "./commit/claims.ts";
import type { PublishOutcome } from "./commit/committer.ts";
import type { RouteTable } from "./url/route-table.ts";

/** Each is some series for Prometheus, for as long as receive runs. */
const maxSources = 1_000;

/** What was answered to one source's senders. */
class Answers {
	readonly account: string;
	readonly source: string;
	readonly byCode = new Map<string, number>();

	constructor(account: string, source: string) {
		this.account = account;
		this.source = source;
	}

	count(code: string): void {
		this.byCode.set(code, (this.byCode.get(code) ?? 0) + 1);
	}
}

interface Keys {
	/** Entries in their bucket. */
	readonly keys: number;
	readonly outcomes: Readonly<Record<KeyOutcome, number>>;
}

/** What receive counts. The hot path adds to plain numbers; they become metrics when Prometheus asks. */
export class ReceiveMetrics {
	/** By source key. */
	readonly #answers = new Map<string, Answers>();
	readonly #answersToUnknown = new Answers("", "");
	readonly #answersToOthers = new Answers("", "(other)");
	#events = 0;
	#bodyBytes = 0;
	#undelivered = 0;
	readonly #frames: Counter<"outcome">;
	readonly #frameBytes: Histogram;
	readonly #frameEvents: Histogram;
	readonly #commitSeconds: Histogram;
	#keys: Keys | undefined;

	constructor(
		registry: Registry,
		inFlight: Readonly<Pick<Budget, "requests" | "bytes">>,
		routes: Pick<RouteTable, "ageMs">,
	) {
		const registers = [registry];
		const answers = () => [
			...this.#answers.values(),
			this.#answersToUnknown,
			this.#answersToOthers,
		];
		const events = () => this.#events;
		const bodyBytes = () => this.#bodyBytes;
		const undelivered = () => this.#undelivered;
		new Counter({
			name: "tidemill_receive_requests_total",
			help: `Requests answered, by source and code: OK, Repeat for an event that was stored before under its idempotency key, Greeting for a check of the URL, or that of the error they were refused with. Without a source: none has the URL. The first ${maxSources} sources are told apart, the rest are (other).`,
			labelNames: ["account", "source", "code"],
			registers,
			collect() {
				this.reset();
				for (const { account, source, byCode } of answers())
					for (const [code, count] of byCode)
						this.inc({ account, source, code }, count);
			},
		});
		new Counter({
			name: "tidemill_receive_undelivered_replies_total",
			help: "Events stored and acknowledged whose sender had gone before it could be told; counted as OK, too.",
			registers,
			collect() {
				this.reset();
				this.inc(undelivered());
			},
		});
		new Gauge({
			name: "tidemill_receive_routes_age_seconds",
			help: "Time since the routes that are served were last seen to be those that operator wrote; some seconds when all is well.",
			registers,
			collect() {
				this.set(routes.ageMs() / 1000);
			},
		});
		new Counter({
			name: "tidemill_receive_events_total",
			help: "Events stored and acknowledged.",
			registers,
			collect() {
				this.reset();
				this.inc(events());
			},
		});
		new Counter({
			name: "tidemill_receive_event_body_bytes_total",
			help: "Bytes of the bodies of events stored and acknowledged.",
			registers,
			collect() {
				this.reset();
				this.inc(bodyBytes());
			},
		});
		new Gauge({
			name: "tidemill_receive_in_flight_requests",
			help: "Requests being read, stored or answered.",
			registers,
			collect() {
				this.set(inFlight.requests);
			},
		});
		new Gauge({
			name: "tidemill_receive_in_flight_bytes",
			help: "Bytes of bodies that are held in memory.",
			registers,
			collect() {
				this.set(inFlight.bytes);
			},
		});
		const keys = () => this.#keys;
		new Counter({
			name: "tidemill_receive_idempotency_requests_total",
			help: "Requests with an idempotency key, by outcome: claimed (the key is new), taken_over (an earlier event under it wasn't stored), repeated, or refused.",
			labelNames: ["outcome"],
			registers,
			collect() {
				this.reset();
				for (const [outcome, count] of Object.entries(keys()?.outcomes ?? {}))
					this.inc({ outcome }, count);
			},
		});
		new Gauge({
			name: "tidemill_receive_idempotency_keys",
			help: "Idempotency keys that are kept, when this receiver last looked. At archive's IDEMPOTENCY_MAX_KEYS new ones are answered 503.",
			registers,
			collect() {
				this.set(keys()?.keys ?? 0);
			},
		});
		this.#frames = new Counter({
			name: "tidemill_receive_frames_total",
			help: "Frames done, by outcome: stored, refused, or unknown (given up after 60 s).",
			labelNames: ["outcome"],
			registers,
		});
		this.#frameBytes = new Histogram({
			name: "tidemill_receive_frame_bytes",
			help: "Sizes of the frames that were stored.",
			buckets: [1e3, 1e4, 3e4, 1e5, 3e5, 1e6, 3e6, 8_388_608],
			registers,
		});
		this.#frameEvents = new Histogram({
			name: "tidemill_receive_frame_events",
			help: "Events in the frames that were stored.",
			buckets: [1, 3, 10, 30, 100, 300, 1_000, 10_000],
			registers,
		});
		this.#commitSeconds = new Histogram({
			name: "tidemill_receive_commit_seconds",
			help: "From a frame's first publish to its acknowledgement.",
			buckets: [
				0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5,
			],
			registers,
		});
	}

	/**
	 * A request is answered. @param code `OK`, `Repeat`, `Greeting`, or that of the refusal. @param route of the source that has the
	 * URL; undefined when none has.
	 */
	answer(code: string, route?: Route): void {
		this.#answersOf(route).count(code);
	}

	#answersOf(route: Route | undefined): Answers {
		if (!route) return this.#answersToUnknown;
		let answers = this.#answers.get(route.sourceKey);
		if (!answers) {
			if (this.#answers.size >= maxSources) return this.#answersToOthers;
			answers = new Answers(route.account, route.source);
			this.#answers.set(route.sourceKey, answers);
		}
		return answers;
	}

	/** From now on there are keys to count. */
	observeKeys(keys: Keys): void {
		this.#keys = keys;
	}

	/** An event is stored, and nobody is there to be told. */
	undelivered(): void {
		this.#undelivered++;
	}

	event(bodyBytes: number): void {
		this.#events++;
		this.#bodyBytes += bodyBytes;
	}

	frame(frame: {
		outcome: PublishOutcome;
		events: number;
		bytes: number;
		tookMs: number;
	}): void {
		this.#frames.inc({ outcome: frame.outcome });
		if (frame.outcome !== "stored") return;
		this.#frameBytes.observe(frame.bytes);
		this.#frameEvents.observe(frame.events);
		this.#commitSeconds.observe(frame.tookMs / 1000);
	}
}
