import { useEffect, useMemo, useState } from "preact/hooks";
import type { ServerEvent } from "../../packages/service/event-stream.ts";
import { refusedAgainMs } from "../api/changes.ts";
import type { ApiProblem } from "../api/problem.ts";
import { can } from "../api/session.ts";
import { followShared } from "../api/shared-stream.ts";
import { TextField } from "../components/field.tsx";
import { ProblemBox } from "../components/problem-box.tsx";
import { StatusBadge } from "../components/status-badge.tsx";
import { Time } from "../components/time.tsx";
import { sources as words } from "../messages/sources.ts";
import {
	afterPause,
	afterPiece,
	emptyTail,
	saysWhetherEventsShow,
	type TailRow,
} from "./tail.ts";

/** A person follows no list that changes more often, and each change lays out 200 rows anew. */
const showEveryMs = 200;

/** New events as they come, from when the visitor asks for them. */
export function EventTail({ source }: { source: string }) {
	const [isOpen, setOpen] = useState(false);
	return (
		<section aria-label={words.liveTitle}>
			<h2>{words.liveTitle}</h2>
			{isOpen ? (
				<Tail key={source} source={source} />
			) : (
				<p>
					<button type="button" onClick={() => setOpen(true)}>
						{words.follow}
					</button>
				</p>
			)}
		</section>
	);
}

function Tail({ source }: { source: string }) {
	const [tail, setTail] = useState(emptyTail);
	const [problem, setProblem] = useState<ApiProblem>();
	const [text, setText] = useState("");
	const [round, setRound] = useState(0);
	useEffect(() => {
		const leaving = new AbortController();
		let again: ReturnType<typeof setTimeout> | undefined;
		let showing: ReturnType<typeof setTimeout> | undefined;
		let came: ServerEvent[] = [];
		let said: ServerEvent | undefined;
		const show = () => {
			const piece = came;
			came = [];
			showing = undefined;
			setTail((before) => afterPiece(before, piece));
		};
		void followShared(
			`sources/${encodeURIComponent(source)}/events/tail`,
			{ refused: true, ...(can("sources/bodies", "get") && { body: true }) },
			{
				snapshot: () => (said ? [said] : []),
				onEvents: (piece) => {
					said = piece.findLast(saysWhetherEventsShow) ?? said;
					came.push(...piece);
					showing ??= setTimeout(show, showEveryMs);
				},
				onState: (state, refused) => {
					// While it connects again, nothing says yet that it may.
					if (state !== "connecting") setProblem(refused);
					if (state !== "refused") return;
					clearTimeout(again);
					again = setTimeout(() => setRound(round + 1), refusedAgainMs);
				},
			},
			leaving.signal,
		);
		return () => {
			leaving.abort();
			clearTimeout(again);
			clearTimeout(showing);
		};
	}, [source, round]);
	const rows = useMemo(
		() => tail.rows.filter((row) => includes(row, text)),
		[tail.rows, text],
	);
	const { isPaused, held, leftOut, waiting } = tail;
	return (
		<>
			{problem && (
				<ProblemBox problem={problem} onRetry={() => setRound(round + 1)} />
			)}
			<div class="filters">
				<button type="button" onClick={() => setTail(afterPause)}>
					{isPaused ? words.goOn : words.pause}
				</button>
				<TextField
					label={words.text}
					type="search"
					value={text}
					onInput={setText}
				/>
			</div>
			<p class="quiet" role="status">
				{problem
					? words.followsAgain
					: (waiting ??
						(isPaused ? words.paused(held.length) : words.following))}
				{leftOut > 0 && ` ${words.leftOut(leftOut.toLocaleString("en"))}`}
			</p>
			<ol class="tail">
				{rows.map((row) => (
					<li key={row.id}>
						<StatusBadge
							status={row.kind}
							label={
								row.kind === "refused"
									? words.refusedTitle
									: words.states[row.kind]
							}
						/>{" "}
						<Time at={row.time} /> {row.type}{" "}
						<code>{(row.body ?? row.message ?? "").slice(0, 200)}</code>
					</li>
				))}
			</ol>
		</>
	);
}

function includes(
	{ body = "", message = "", type = "" }: TailRow,
	text: string,
) {
	const wanted = text.toLowerCase();
	return [body, message, type].some((part) =>
		part.toLowerCase().includes(wanted),
	);
}
