import type { NatsConnection } from "@nats-io/transport-node";
import type {
	KeyAnswer,
	KeyQuestion,
	SnsQuestion,
} from "../../../packages/contracts/notify-question.ts";

/** SNS waits 15 s for an answer: docs.aws.amazon.com/sns/latest/dg/SendMessageToHttp.prepare.html. */
const timeoutMs = 10_000;
/** Of one account: who waits for an answer holds a place. */
const maxAtOnce = 4;

/** Asks notify. Undefined without an answer. */
export type AskNotify = (
	subject: string,
	question: SnsQuestion | KeyQuestion,
) => Promise<KeyAnswer | undefined>;

export function askThrough(connection: NatsConnection): AskNotify {
	return async (subject, question) => {
		try {
			const options = { timeout: timeoutMs };
			const text = JSON.stringify(question);
			return (await connection.request(subject, text, options)).json();
		} catch {
			return undefined;
		}
	};
}

/** What receive asks notify, which alone calls addresses. No account asks much at once. */
export class NotifyQuestions {
	readonly #ask: AskNotify;
	readonly #atOnce = new Map<string, number>();

	constructor(ask: AskNotify) {
		this.#ask = ask;
	}

	async ask(
		...[subject, question]: Parameters<AskNotify>
	): Promise<KeyAnswer | "busy" | undefined> {
		const { account } = question;
		const count = this.#atOnce.get(account) ?? 0;
		if (count >= maxAtOnce) return "busy";
		this.#atOnce.set(account, count + 1);
		const answer = await this.#ask(subject, question);
		const left = this.#atOnce.get(account)! - 1;
		if (left > 0) this.#atOnce.set(account, left);
		else this.#atOnce.delete(account);
		return answer;
	}
}
