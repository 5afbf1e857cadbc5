import { effect } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { isReady, live, remember } from "../api/changes.ts";
import { ApiProblem } from "../api/problem.ts";
import { api } from "../api/request.ts";
import { can } from "../api/session.ts";
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

const askEveryMs = 8_000;

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

/** Resolves to the Operation once it has ended; rejects if it is gone, or when the signal fires. */
function follow(
	created: Operation,
	signal: AbortSignal,
	onStatus: (status: string) => void,
): Promise<Operation> {
	const ended = Promise.withResolvers<Operation>();
	remember("operations", created);
	const read = () =>
		api
			.get<Operation>(pathOf(created.name), { signal })
			.then((operation) => remember("operations", operation), ended.reject);
	// Who may create one and see none isn't told of changes.
	const isTold = can("operations", "list");
	const asking = isTold ? undefined : setInterval(read, askEveryMs);
	const stop = effect(() => {
		const operation = live("operations").get(created.name);
		if (operation?.completionTime !== undefined) ended.resolve(operation);
		else if (operation) onStatus(operation.status ?? "Pending");
		else if (isReady("operations")) void read();
	});
	const leave = () => ended.reject(signal.reason);
	signal.addEventListener("abort", leave);
	return ended.promise.finally(() => {
		stop();
		clearInterval(asking);
		signal.removeEventListener("abort", leave);
	});
}

function pathOf(name: string): string {
	return `operations/${encodeURIComponent(name)}`;
}

function randomSuffix(): string {
	return [...crypto.getRandomValues(new Uint8Array(4))]
		.map((byte) => byte.toString(16).padStart(2, "0"))
		.join("");
}
