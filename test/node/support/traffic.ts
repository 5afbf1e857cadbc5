import { Agent } from "node:http";
import { startFlow } from "../../support/senders/event-flow.ts";
import type {
	Acknowledged,
	Sent,
} from "../../support/senders/persistent-sender.ts";
import type { Quickstart } from "../../support/senders/quickstart.ts";

/** Some hundred events a second. */
const pauseMs = 10;
/** Events before and after a disturbance, so that there is one to speak of. */
const around = 100;

/** Senders that go on while something happens to the installation. */
export interface Traffic {
	/** Does something amid the traffic and prints what senders noticed. Returns how many requests failed. */
	during(what: string, action: () => Promise<unknown>): Promise<number>;
	stop(): Promise<void>;
	sent: Sent;
}

export function startTraffic(quickstart: Quickstart): Traffic {
	const agent = new Agent({ keepAlive: true });
	const flow = startFlow(quickstart, { pauseMs, agent });
	const { acknowledged, unknown } = flow.sent;
	return {
		during: async (what, action) => {
			const before = { answers: acknowledged.size, failures: unknown.size };
			const startedMs = performance.now();
			await flow.untilMore(around);
			await action();
			await flow.untilMore(around);
			const seconds = (performance.now() - startedMs) / 1000;
			const answers = [...acknowledged.values()].slice(before.answers);
			const failures = unknown.size - before.failures;
			console.log(
				`${what}: ${seconds.toFixed(1)} s, ${answers.length + failures} requests, ${failures} failed, ${inWords(answers)}`,
			);
			return failures;
		},
		stop: async () => {
			await flow.stop();
			agent.destroy();
		},
		sent: flow.sent,
	};
}

function inWords(answers: Acknowledged[]): string {
	const times = answers
		.map(({ sentAtMs, answeredAtMs }) => answeredAtMs - sentAtMs)
		.sort((a, b) => a - b);
	const quantile = (share: number) =>
		`${times[Math.floor(share * (times.length - 1))]} ms`;
	return `p50 ${quantile(0.5)}, p99 ${quantile(0.99)}, longest ${quantile(1)}`;
}
