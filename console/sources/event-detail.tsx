import { useRef, useState } from "preact/hooks";
import { ApiProblem } from "../api/problem.ts";
import { api } from "../api/request.ts";
import { can } from "../api/session.ts";
import { useLoaded } from "../api/use-loaded.ts";
import { CodeBlock } from "../components/code-block.tsx";
import { CopyButton } from "../components/copy-button.tsx";
import { Skeleton } from "../components/page.tsx";
import { ProblemBox } from "../components/problem-box.tsx";
import { StatusBadge } from "../components/status-badge.tsx";
import { Time } from "../components/time.tsx";
import { toast } from "../components/toasts.ts";
import type {
	Event,
	EventReceipt,
	SendAgainResult,
	Source,
} from "../generated/types.ts";
import { sources as words } from "../messages/sources.ts";
import { stateOfLoads } from "./activity.ts";
import { EventLoads } from "./event-loads.tsx";
import { curlOf, prettyBody, replayOf } from "./event-text.ts";

/** One event: where it is, which Run loaded it into which table, and, for who may see them, its body and headers. */
export function EventDetail({
	source,
	id,
	progress,
	onClose,
}: {
	source: Source;
	id: string;
	/** Another one reads again where the event is. */
	progress: string;
	onClose(): void;
}) {
	const { event, receipt, problem, retry } = useEvent(
		...([source.name, id, progress] as const),
	);
	return (
		<section class="card" aria-label={`${words.event} ${id}`}>
			<div class="page-title">
				<h3>
					<code>{id}</code>
				</h3>
				<button type="button" onClick={onClose}>
					{words.close}
				</button>
			</div>
			{problem && <ProblemBox problem={problem} onRetry={retry} triesItself />}
			{!event && !problem && <Skeleton />}
			{event && (
				<>
					<p>
						<StatusBadge
							status={event.state}
							label={words.states[event.state] ?? event.state}
						/>{" "}
						{words.stage[event.stage as keyof typeof words.stage] ??
							event.stage}
						, <Time at={event.time} inFull />
					</p>
					<EventActions source={source} event={event} />
					{receipt && (
						<>
							<h4>{words.loads}</h4>
							<EventLoads loads={receipt.loads ?? []} withTimes />
						</>
					)}
					<Violations event={event} />
					<Contents event={event} />
				</>
			)}
		</section>
	);
}

function useEvent(source: string, id: string, progress: string) {
	const eventPath = `sources/${encodeURIComponent(source)}/events/${encodeURIComponent(id)}`;
	const isDone = useRef(false);
	const asked = useRef(progress);
	// What is loaded everywhere stays so.
	if (!isDone.current) asked.current = progress;
	const event = useLoaded(
		(signal) =>
			api.get<Event>(eventPath, {
				query: { body: can("sources/bodies", "get") || undefined },
				signal,
			}),
		[eventPath, asked.current],
	);
	const isThere = event.answer !== undefined;
	// It says more than the event, and needs more rights.
	const receipt = useLoaded(
		async (signal) =>
			isThere
				? api.get<EventReceipt>(`events/${encodeURIComponent(id)}`, { signal })
				: undefined,
		[id, asked.current, isThere],
	);
	isDone.current =
		event.answer?.stage === "Bucket" &&
		stateOfLoads(receipt.answer?.loads) === "Loaded";
	return {
		event: event.answer,
		receipt: receipt.answer,
		problem: event.problem ?? receipt.problem,
		retry: event.problem ? event.retry : receipt.retry,
	};
}

function EventActions({ source, event }: { source: Source; event: Event }) {
	const { name, webhookURL, webhook } = source;
	const ways = webhook?.idempotency
		? (["New", "Repeat"] as const)
		: (["New"] as const);
	const [isBusy, setBusy] = useState(false);
	const sendAgain = async (as: "New" | "Repeat") => {
		setBusy(true);
		try {
			const result = await api.post<SendAgainResult>(
				`sources/${encodeURIComponent(name)}/events/${event.eventId}/send-again`,
				{ as },
			);
			if (result.eventId) toast(words.sentAgain(result));
			else toast(words.notSent(result.error?.message ?? ""), "bad");
		} catch (error) {
			if (!(error instanceof ApiProblem)) throw error;
			toast(error.message, "bad");
		} finally {
			setBusy(false);
		}
	};
	return (
		<div class="actions">
			{event.body !== undefined && webhookURL && (
				<CopyButton text={() => curlOf(event, webhookURL)}>
					{words.copyCurl}
				</CopyButton>
			)}
			<CopyButton text={replayOf(name, event.eventId)}>
				{words.copyReplay}
			</CopyButton>
			{event.body !== undefined &&
				can("sources", "patch") &&
				ways.map((as) => (
					<button
						key={as}
						type="button"
						class="button-small"
						title={words.sendAgainHelp[as]}
						disabled={isBusy}
						onClick={() => void sendAgain(as)}
					>
						{words.sendAgain[as]}
					</button>
				))}
		</div>
	);
}

function Violations({ event: { violations = [] } }: { event: Event }) {
	if (violations.length === 0) return null;
	return (
		<>
			<h4>{words.violations}</h4>
			<ul>
				{violations.map(({ kind, path, message }) => (
					<li key={`${kind} ${path}`}>
						{kind} {path && <code>{path}</code>} {message}
					</li>
				))}
			</ul>
		</>
	);
}

function Contents({ event }: { event: Event }) {
	const { body, headers = {}, queryParameters = {} } = event;
	if (body === undefined) return <p class="quiet">{words.noBodies}</p>;
	return (
		<>
			<CodeBlock label={words.body} text={body} format={prettyBody} />
			<Pairs title={words.headers} of={headers} />
			<Pairs title={words.query} of={queryParameters} />
		</>
	);
}

function Pairs({ title, of }: { title: string; of: Record<string, string> }) {
	const lines = Object.entries(of).map(([name, value]) => `${name}: ${value}`);
	if (lines.length === 0) return null;
	return <CodeBlock label={title} text={lines.join("\n")} />;
}
