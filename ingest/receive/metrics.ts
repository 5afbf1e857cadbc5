import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { Route } from "../../packages/contracts/route.ts";
import type { MemoryBudget } from "./admission/budget.ts";
import type { KeyOutcome } from "./commit/claims.ts";
import type { FinishedFrame } from "./commit/committer.ts";
import type { TrackingPlans } from "./plan/tracking-plans.ts";
import type { RefusedRequests } from "./request/refused-requests.ts";
import type { RouteTable } from "./request/route-table.ts";

/** Of one account, so that no account's sources take another's series. Each costs Prometheus a few for as long as receive runs. */
const maxSources = 200;

const others = "(other)";

/** The answers to one source's senders. */
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

interface AccountSources {
	/** Sources with series of their own. */
	count: number;
	others: Answers;
}

interface Keys {
	/** Entries in the bucket. */
	readonly keys: number;
	readonly outcomes: Readonly<Record<KeyOutcome, number>>;
}

/** Receive's metrics. The hot path adds to plain numbers, which become metrics when Prometheus asks. */
export class ReceiveMetrics {
	/** By source key. */
	readonly #answers = new Map<string, Answers>();
	readonly #answersToUnknown = new Answers("", "");
	readonly #accounts = new Map<string, AccountSources>();
	#events = 0;
	#bodyBytes = 0;
	#undelivered = 0;
	readonly #frames: Counter<"outcome">;
	readonly #frameBytes: Histogram;
	readonly #frameEvents: Histogram;
	readonly #commitSeconds: Histogram;
	#keys: Keys | undefined;
	#refused: Pick<RefusedRequests, "outcomes"> | undefined;

	constructor(
		registry: Registry,
		inFlight: Readonly<Pick<MemoryBudget, "requests" | "bytes">>,
		routes: Pick<RouteTable, "ageMs">,
	) {
		const registers = [registry];
		const answers = () => [
			...this.#answers.values(),
			this.#answersToUnknown,
			...this.#accounts.values().map(({ others }) => others),
		];
		const observe = observer(registry);
		observe(Counter, {
			name: "tidemill_receive_requests_total",
			help: `Requests answered, by source and code: OK; Repeat for an event already stored under its idempotency key; Greeting for a URL challenge; or the error code of a refusal. Source is empty if none has the URL. The first ${maxSources} sources of an account have their own series; its others count as ${others}.`,
			labelNames: ["account", "source", "code"],
			*read() {
				for (const { account, source, byCode } of answers())
					for (const [code, count] of byCode)
						yield [{ account, source, code }, count];
			},
		});
		observe(Counter, {
			name: "tidemill_receive_undelivered_replies_total",
			help: "Events stored and acknowledged whose sender disconnected before the answer. They also count as OK.",
			read: () => this.#undelivered,
		});
		observe(Gauge, {
			name: "tidemill_receive_routes_age_seconds",
			help: "Time since receive last confirmed that it serves the routes that operator wrote. A few seconds are normal.",
			read: () => routes.ageMs() / 1000,
		});
		observe(Counter, {
			name: "tidemill_receive_events_total",
			help: "Events stored and acknowledged.",
			read: () => this.#events,
		});
		observe(Counter, {
			name: "tidemill_receive_event_body_bytes_total",
			help: "Body bytes of events stored and acknowledged.",
			read: () => this.#bodyBytes,
		});
		observe(Gauge, {
			name: "tidemill_receive_in_flight_requests",
			help: "Requests being read, stored or answered.",
			read: () => inFlight.requests,
		});
		observe(Gauge, {
			name: "tidemill_receive_in_flight_bytes",
			help: "Body bytes held in memory.",
			read: () => inFlight.bytes,
		});
		observe(Counter, {
			name: "tidemill_receive_idempotency_requests_total",
			help: "Requests with an idempotency key, by outcome: claimed (a new key), taken_over (the key's earlier event wasn't stored), repeated, or refused.",
			labelNames: ["outcome"],
			read: () =>
				byLabel("outcome", Object.entries(this.#keys?.outcomes ?? {})),
		});
		observe(Gauge, {
			name: "tidemill_receive_idempotency_keys",
			help: "Idempotency keys in the bucket when this receiver last looked. An account that has as many as are free below archive's IDEMPOTENCY_MAX_KEYS gets 503 for requests with new keys.",
			read: () => this.#keys?.keys ?? 0,
		});
		observe(Counter, {
			name: "tidemill_receive_refused_records_total",
			help: "Refused requests of known URLs, by what became of their record for people: sent, cut (sent without the violations for which there was no room), left_out (a Source, an account and receive have a pace each), or dropped while NATS is unreachable.",
			labelNames: ["outcome"],
			read: () =>
				byLabel("outcome", Object.entries(this.#refused?.outcomes ?? {})),
		});
		this.#frames = new Counter({
			name: "tidemill_receive_frames_total",
			help: "Finished frames, by outcome: stored, refused, or unknown (given up after 60 s).",
			labelNames: ["outcome"],
			registers,
		});
		this.#frameBytes = new Histogram({
			name: "tidemill_receive_frame_bytes",
			help: "Sizes of stored frames.",
			buckets: [1e3, 1e4, 3e4, 1e5, 3e5, 1e6, 3e6, 8_388_608],
			registers,
		});
		this.#frameEvents = new Histogram({
			name: "tidemill_receive_frame_events",
			help: "Events per stored frame.",
			buckets: [1, 3, 10, 30, 100, 300, 1_000, 10_000],
			registers,
		});
		this.#commitSeconds = new Histogram({
			name: "tidemill_receive_commit_seconds",
			help: "Time from a frame's first publish to its acknowledgement.",
			buckets: [
				0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5,
			],
			registers,
		});
	}

	/**
	 * Counts an answered request. @param code `OK`, `Repeat`, `Greeting`, or the refusal's code. @param route undefined when
	 * no source has the URL.
	 */
	answer(code: string, route?: Route): void {
		this.#answersOf(route).count(code);
	}

	#answersOf(route: Route | undefined): Answers {
		if (!route) return this.#answersToUnknown;
		return this.#answers.get(route.sourceKey) ?? this.#newAnswers(route);
	}

	#newAnswers({ account, source, sourceKey }: Route): Answers {
		let sources = this.#accounts.get(account);
		if (!sources) {
			sources = { count: 0, others: new Answers(account, others) };
			this.#accounts.set(account, sources);
		}
		if (sources.count === maxSources) return sources.others;
		sources.count++;
		const answers = new Answers(account, source);
		this.#answers.set(sourceKey, answers);
		return answers;
	}

	/** Includes the idempotency keys from now on. */
	observeKeys(keys: Keys): void {
		this.#keys = keys;
	}

	/** Includes the records of refused requests from now on. */
	observeRefused(refused: Pick<RefusedRequests, "outcomes">): void {
		this.#refused = refused;
	}

	/** Counts a stored event whose sender has disconnected. */
	undelivered(): void {
		this.#undelivered++;
	}

	/** Counts a stored event. */
	event(bodyBytes: number): void {
		this.#events++;
		this.#bodyBytes += bodyBytes;
	}

	frame(frame: FinishedFrame): void {
		this.#frames.inc({ outcome: frame.outcome });
		if (frame.outcome !== "stored") return;
		this.#frameBytes.observe(frame.bytes);
		this.#frameEvents.observe(frame.events);
		this.#commitSeconds.observe(frame.tookMs / 1000);
	}
}

type Observed = Pick<
	TrackingPlans,
	"outcomes" | "kinds" | "restarts" | "readiedAgain"
> & {
	table: Pick<TrackingPlans["table"], "counts">;
};

/** Metrics of tracking plans. They have no label that a sender or an account could choose. */
export function observePlans(registry: Registry, plans: Observed): void {
	const observe = observer(registry);
	observe(Counter, {
		name: "tidemill_receive_judged_events_total",
		help: "Events validated by tracking plans, by outcome: Accept, Quarantine, Reject, or Failed. Accepted and quarantined ones are stored after that, if all goes well.",
		labelNames: ["outcome"],
		read: () => byLabel("outcome", plans.outcomes),
	});
	observe(Counter, {
		name: "tidemill_receive_deviating_events_total",
		help: "Validated events with a violation of this kind. An event counts once for each kind that it has.",
		labelNames: ["kind"],
		read: () => byLabel("kind", plans.kinds),
	});
	observe(Gauge, {
		name: "tidemill_receive_tracking_plans",
		help: "Versions of tracking plans, by state: compiled, or failed. Receive tries a failed one again.",
		labelNames: ["state"],
		read: () => byLabel("state", Object.entries(plans.table.counts)),
	});
	observe(Counter, {
		name: "tidemill_receive_judge_restarts_total",
		help: "How often the thread that validates events has died or hung and was replaced.",
		read: () => plans.restarts,
	});
	observe(Counter, {
		name: "tidemill_receive_plans_readied_again_total",
		help: "How often a tracking plan's code had to be made ready again before an event was validated, since other plans had taken its room.",
		read: () => plans.readiedAgain,
	});
}

type LabelledValue = [labels: Record<string, string>, value: number];

/** Registers metrics whose values are read when Prometheus asks. */
function observer(registry: Registry) {
	return (
		Metric: typeof Counter | typeof Gauge,
		{
			read,
			...about
		}: {
			name: string;
			help: string;
			labelNames?: string[];
			read(): number | Iterable<LabelledValue>;
		},
	): void => {
		new Metric({
			...about,
			registers: [registry],
			collect(this: Counter | Gauge) {
				this.reset();
				const values = read();
				for (const [labels, value] of typeof values === "number"
					? ([[{}, values]] satisfies LabelledValue[])
					: values)
					this.inc(labels, value);
			},
		});
	};
}

function* byLabel(
	name: string,
	counts: Iterable<readonly [string, number]>,
): Generator<LabelledValue> {
	for (const [value, count] of counts) yield [{ [name]: value }, count];
}
