import { useState } from "preact/hooks";
import { ApiProblem } from "../api/problem.ts";
import { api } from "../api/request.ts";
import { Dialog } from "../components/dialog.tsx";
import { TextField } from "../components/field.tsx";
import { ProblemBox } from "../components/problem-box.tsx";
import { toast } from "../components/toasts.ts";
import type { Run, RunStart } from "../generated/types.ts";
import { components } from "../messages/components.ts";
import { pipelines as words } from "../messages/pipelines.ts";
import { navigateFromHere } from "../router/navigation.ts";

/** Starts a Run and opens its page, if the visitor is still on this one. Throws an {@link ApiProblem}. */
export async function startRun(
	pipeline: string,
	body: RunStart = {},
	isQueued = false,
): Promise<void> {
	const goOn = navigateFromHere();
	const run = await api.post<Run>(
		`pipelines/${encodeURIComponent(pipeline)}/run`,
		body,
		{ query: { queue: isQueued || undefined } },
	);
	toast(words.started(run.name));
	await goOn(`runs/${run.name}`);
}

/** "Run now", and beside it a Run of other dates. What the API refuses is shown by the page. */
export function RunButtons({
	pipeline,
	onProblem,
}: {
	pipeline: string;
	onProblem(problem: ApiProblem | undefined, body?: RunStart): void;
}) {
	const [isBusy, setBusy] = useState(false);
	const [isOpen, setOpen] = useState(false);
	const start = async (body: RunStart = {}) => {
		setBusy(true);
		onProblem(undefined);
		try {
			await startRun(pipeline, body);
		} catch (error) {
			if (!(error instanceof ApiProblem)) throw error;
			onProblem(error, body);
		} finally {
			setBusy(false);
		}
	};
	return (
		<>
			<button
				type="button"
				class="button-primary"
				disabled={isBusy}
				onClick={() => void start()}
			>
				{words.runNow}
			</button>
			<button type="button" disabled={isBusy} onClick={() => setOpen(true)}>
				{words.runOther}
			</button>
			{isOpen && (
				<DatesDialog pipeline={pipeline} onClose={() => setOpen(false)} />
			)}
		</>
	);
}

function DatesDialog({
	pipeline,
	onClose,
}: {
	pipeline: string;
	onClose(): void;
}) {
	const today = new Date().toISOString().slice(0, 10);
	const [isWhole, setWhole] = useState(false);
	const [start, setStart] = useState(today);
	const [end, setEnd] = useState(today);
	const [problem, setProblem] = useState<ApiProblem>();
	const submit = async (event: Event) => {
		event.preventDefault();
		try {
			await startRun(
				pipeline,
				isWhole ? { full: true } : { dates: { start, end } },
			);
		} catch (error) {
			if (!(error instanceof ApiProblem)) throw error;
			setProblem(error);
		}
	};
	return (
		<Dialog title={words.runOtherTitle(pipeline)} onClose={onClose}>
			<form onSubmit={submit}>
				{problem && <ProblemBox problem={problem} />}
				<label>
					<input
						type="radio"
						name="extent"
						checked={!isWhole}
						onChange={() => setWhole(false)}
					/>{" "}
					{words.only}
				</label>
				<div class="beside">
					<TextField
						label={words.from}
						type="date"
						value={start}
						disabled={isWhole}
						onInput={setStart}
					/>
					<TextField
						label={words.to}
						type="date"
						value={end}
						disabled={isWhole}
						onInput={setEnd}
					/>
				</div>
				<label>
					<input
						type="radio"
						name="extent"
						checked={isWhole}
						onChange={() => setWhole(true)}
					/>{" "}
					{words.whole}
				</label>
				<div class="actions">
					<button type="button" onClick={onClose}>
						{components.cancel}
					</button>
					<button type="submit" class="button-primary">
						{words.startRun}
					</button>
				</div>
			</form>
		</Dialog>
	);
}
