import { useEffect, useRef, useState } from "preact/hooks";
import { ApiProblem } from "../api/problem.ts";
import { api } from "../api/request.ts";
import { CopyButton } from "../components/copy-button.tsx";
import { CheckField } from "../components/field.tsx";
import { Skeleton } from "../components/page.tsx";
import { runs as words } from "../messages/runs.ts";
import { emptyLog, endedLog, type LogTail, withText } from "./log.ts";

export type LogState = "reading" | "ended" | "missing" | "forbidden" | "lost";

/**
 * The log of a Run, which follows while it runs.
 * @param round another value reads anew: another attempt has another Pod.
 */
export function useRunLog(name: string, isRunning: boolean, round: string) {
	const [log, setLog] = useState<LogTail>(emptyLog);
	const [state, setState] = useState<LogState>("reading");
	const [retries, setRetries] = useState(0);
	useEffect(() => {
		const leaving = new AbortController();
		const { signal } = leaving;
		const read = async () => {
			const answer = await api.stream(`runs/${encodeURIComponent(name)}/logs`, {
				query: { tail: 1_000, follow: isRunning || undefined },
				signal,
			});
			setLog(emptyLog);
			setState("reading");
			const reader = answer
				.body!.pipeThrough(new TextDecoderStream())
				.getReader();
			let pending = "";
			// Once a frame at most, however fast the lines come.
			const show = () => {
				const text = pending;
				pending = "";
				setLog((before) => withText(before, text));
			};
			for (;;) {
				const { done, value } = await reader.read();
				if (done) break;
				if (pending === "") requestAnimationFrame(show);
				pending += value;
			}
			show();
			setLog(endedLog);
			setState("ended");
		};
		read().catch((error: unknown) => {
			if (signal.aborted) return;
			const status = error instanceof ApiProblem ? error.status : 0;
			setState(
				status === 404 ? "missing" : status === 403 ? "forbidden" : "lost",
			);
		});
		return () => leaving.abort();
	}, [name, isRunning, round, retries]);
	return { log, state, retry: () => setRetries(retries + 1) };
}

export function RunLogView({
	name,
	hasEnded,
	log,
	state,
	onRetry,
}: {
	name: string;
	hasEnded: boolean;
	log: LogTail;
	state: LogState;
	onRetry(): void;
}) {
	const box = useRef<HTMLOListElement>(null);
	const [follows, setFollows] = useState(true);
	useEffect(() => {
		if (follows && box.current)
			box.current.scrollTop = box.current.scrollHeight;
	}, [log, follows]);
	const text = () =>
		log.lines
			.map(({ time = "", level, message, fields = "" }) =>
				[time, level, message, fields].filter(Boolean).join(" "),
			)
			.join("\n");
	return (
		<section class="group" aria-labelledby="log">
			<div class="group-head">
				<h2 id="log">{words.log}</h2>
				{log.lines.length > 0 && (
					<div class="actions">
						<CheckField
							label={words.follow}
							checked={follows}
							onChange={setFollows}
						/>
						<CopyButton text={text} label={words.download} />
					</div>
				)}
			</div>
			{log.dropped > 0 && <p class="quiet">{words.dropped(log.dropped)}</p>}
			{log.lines.length > 0 && (
				<ol
					class="log"
					ref={box}
					// biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard (WCAG 2.1.1).
					tabIndex={0}
					aria-label={words.logOf(name)}
				>
					{log.lines.map(({ id, time, level, message, fields }) => (
						<li key={id} class={`log-${level}`}>
							{time && <time dateTime={time}>{time.slice(11, 23)}</time>}{" "}
							{level !== "text" && level !== "info" && (
								<strong>{level} </strong>
							)}
							{message} {fields && <span class="quiet">{fields}</span>}
						</li>
					))}
				</ol>
			)}
			{hasEnded && state === "reading" && log.lines.length === 0 && (
				<Skeleton lines={3} />
			)}
			<p class="quiet" role="status">
				{state === "missing" && (hasEnded ? words.noLog : words.noLogYet)}
				{state === "forbidden" && words.noLogRight}
				{state === "ended" && hasEnded && words.ended}
				{state === "lost" && words.logLost}
			</p>
			{state === "lost" && (
				<div class="actions">
					<button type="button" onClick={onRetry}>
						{words.reconnect}
					</button>
				</div>
			)}
		</section>
	);
}
