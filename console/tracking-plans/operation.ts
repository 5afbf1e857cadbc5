import { useEffect, useRef, useState } from "preact/hooks";
import { ApiProblem } from "../api/problem.ts";
import { api } from "../api/request.ts";
import type { Operation, OperationCreate } from "../generated/types.ts";
import { operationName } from "./plan-form.ts";

/** A piece of work that the page started, from its start to its end. */
export interface FollowedOperation {
	status?: string;
	problem?: ApiProblem;
	/** Once it has ended. */
	ended?: Operation;
}

type OperationRequest = Omit<OperationCreate, "name">;

/** Often at first, since most take some seconds, and never more than ten times a minute. */
const pausesMs = [1_000, 1_500, 2_500, 5_000];
const laterPauseMs = 8_000;

/** Starts an Operation and follows it. Another one, and leaving the page, stop following; `stop` cancels it as well. */
export function useOperation(onEnd: (ended: Operation) => void) {
	const [state, setState] = useState<FollowedOperation>({});
	const following = useRef(new AbortController());
	const name = useRef<string | undefined>(undefined);
	const finish = useRef(onEnd);
	finish.current = onEnd;
	useEffect(() => () => following.current.abort(), []);

	const start = async (request: OperationRequest) => {
		following.current.abort();
		following.current = new AbortController();
		const { signal } = following.current;
		setState({ status: "Pending" });
		try {
			const body = {
				name: operationName(
					request.type,
					request.sourceRef.name,
					randomSuffix(),
				),
				// Nobody looks at it but this page.
				ttlSecondsAfterFinished: 3_600,
				...request,
			};
			const created = await api.post<Operation>("operations", body, { signal });
			name.current = created.name;
			const ended = await follow(created, signal, (status) =>
				setState({ status }),
			);
			setState({ ended });
			finish.current(ended);
		} catch (error) {
			if (signal.aborted) return;
			if (!(error instanceof ApiProblem)) throw error;
			setState({ problem: error });
		} finally {
			if (!signal.aborted) name.current = undefined;
		}
	};
	const stop = async () => {
		if (!name.current) return;
		try {
			await api.patch(pathOf(name.current), { cancel: true });
		} catch (error) {
			if (!(error instanceof ApiProblem)) throw error;
			setState({ problem: error });
		}
	};
	return { ...state, isBusy: state.status !== undefined, start, stop };
}

async function follow(
	created: Operation,
	signal: AbortSignal,
	onStatus: (status: string) => void,
): Promise<Operation> {
	let operation = created;
	for (let round = 0; operation.completionTime === undefined; round++) {
		onStatus(operation.status ?? "Pending");
		await pause(pausesMs[round] ?? laterPauseMs, signal);
		operation = await api.get<Operation>(pathOf(created.name), { signal });
	}
	return operation;
}

function pathOf(name: string): string {
	return `operations/${encodeURIComponent(name)}`;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
	return new Promise((resolve, reject) => {
		const timer = setTimeout(resolve, ms);
		signal.addEventListener("abort", () => {
			clearTimeout(timer);
			reject(signal.reason);
		});
	});
}

function randomSuffix(): string {
	return [...crypto.getRandomValues(new Uint8Array(4))]
		.map((byte) => byte.toString(16).padStart(2, "0"))
		.join("");
}
