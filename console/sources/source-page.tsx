import { useEffect, useRef, useState } from "preact/hooks";
import { isReady, live, remember } from "../api/changes.ts";
import { ApiProblem } from "../api/problem.ts";
import { api } from "../api/request.ts";
import { can } from "../api/session.ts";
import { useLoaded } from "../api/use-loaded.ts";
import { conditionTone } from "../components/condition-tone.ts";
import { Conditions } from "../components/conditions.tsx";
import { CopyButton } from "../components/copy-button.tsx";
import { DeleteButton } from "../components/dialog.tsx";
import { NotFound } from "../components/not-found.tsx";
import { ManagedNotice, Page, Skeleton } from "../components/page.tsx";
import { StatusBadge } from "../components/status-badge.tsx";
import { Time, useMinutes } from "../components/time.tsx";
import { toast } from "../components/toasts.ts";
import type { EventList, Source, TestEventResult } from "../generated/types.ts";
import { sources as words } from "../messages/sources.ts";
import { PipelinesOf } from "../pipelines/pipelines-of.tsx";
import { draftOf, type ResourceView } from "../resource/draft.ts";
import { YamlPanel } from "../resource/yaml-panel.tsx";
import {
	address,
	href,
	namespace,
	navigateFromHere,
} from "../router/navigation.ts";
import type { PageProps } from "../router/route.ts";
import { planNameOf } from "../tracking-plans/plan-form.ts";
import { currentRate, progressOf } from "./activity.ts";
import { EventTail } from "./event-tail.tsx";
import { RefusedRequests } from "./refused-requests.tsx";
import { SourceDaysCalendar } from "./source-days.tsx";
import { providerOf } from "./source-form.ts";
import { StoredEvents } from "./stored-events.tsx";
import { useBounded } from "./use-bounded.ts";

/** `sources/<name>`: its URL, what comes in, what is stored and what is refused. */
export function SourcePage({ params }: PageProps) {
	const name = params.name!;
	const source = live("sources").get(name);
	const progress = useBounded(
		source ? progressOf(source, live("pipelines").values()) : "",
	);
	if (!source)
		return isReady("sources") ? (
			<NotFound path={`sources/${name}`} />
		) : (
			<Page title={name} parents={[["sources", words.title]]}>
				<Skeleton />
			</Page>
		);
	const { status = "Pending", managedBy } = source;
	const plan = planNameOf(source);
	const seesEvents = can("sources/events", "get");
	return (
		<Page
			title={name}
			parents={[["sources", words.title]]}
			badge={<StatusBadge status={status} />}
			actions={<Actions source={source} />}
		>
			<ManagedNotice tool={managedBy} />
			{(status !== "Active" || source.conditions?.some(isBad)) && (
				<Conditions conditions={source.conditions} />
			)}
			<WebhookURL source={source} />
			<PipelinesOf
				title={words.pipelines}
				none={words.noPipelines}
				isOne={({ sourceRef }) => sourceRef.name === name}
				begun={{ source: name }}
			/>
			{plan && (
				<p>
					{words.plan}: <a href={href(`tracking-plans/${plan}`)}>{plan}</a>
				</p>
			)}
			{seesEvents && (
				<>
					<SourceDaysCalendar source={name} progress={progress} />
					<EventTail source={name} />
					<StoredEvents source={source} progress={progress} />
					<RefusedRequests source={name} />
				</>
			)}
			<YamlPanel
				kind="Source"
				draft={draftOf("Source", source as unknown as ResourceView)}
				namespace={namespace.value}
				fixedName={name}
			/>
			{can("sources", "delete") && !managedBy && (
				<div class="actions">
					<DeleteButton
						name={name}
						loss={<p>{words.loss}</p>}
						onDelete={async () => {
							const goOn = navigateFromHere();
							await api.delete(path(name));
							await goOn("sources");
						}}
					/>
				</div>
			)}
		</Page>
	);
}

function isBad(condition: NonNullable<Source["conditions"]>[number]) {
	return conditionTone(condition) === "bad";
}

function path(name: string): string {
	return `sources/${encodeURIComponent(name)}`;
}

function Actions({ source }: { source: Source }) {
	const { name, suspend = false, managedBy } = source;
	const [isBusy, act] = useAction();
	if (!can("sources", "patch")) return null;
	const rotate = async () => {
		const rotated = await api.post<Source>(`${path(name)}/rotate-url`);
		remember("sources", rotated);
		const isNew = rotated.webhookURL !== source.webhookURL;
		toast(isNew ? words.rotated : words.rotating);
	};
	const setSuspended = async () =>
		remember(
			"sources",
			await api.patch<Source>(path(name), { suspend: suspend ? null : true }),
		);
	return (
		<>
			{can("sources", "update") && !managedBy && (
				<a class="button" href={href(`sources/${name}/edit`)}>
					{words.edit}
				</a>
			)}
			{!managedBy &&
				(suspend ? (
					<button
						type="button"
						disabled={isBusy}
						onClick={() => void act(setSuspended)}
					>
						{words.resume}
					</button>
				) : (
					<DeleteButton
						name={name}
						label={words.suspend}
						title={words.suspendTitle(name)}
						loss={<SuspendLoss source={name} />}
						asksName={false}
						onDelete={setSuspended}
					/>
				))}
			{source.webhookURL && (
				<DeleteButton
					name={name}
					label={words.rotate}
					title={words.rotateTitle(name)}
					loss={<p>{words.rotateLoss}</p>}
					onDelete={rotate}
				/>
			)}
		</>
	);
}

/** Does one thing at a time, and says if it fails. */
function useAction() {
	const [isBusy, setBusy] = useState(false);
	const act = async (action: () => Promise<void>) => {
		if (isBusy) return;
		setBusy(true);
		try {
			await action();
		} catch (error) {
			if (!(error instanceof ApiProblem)) throw error;
			toast(error.message, "bad");
		} finally {
			setBusy(false);
		}
	};
	return [isBusy, act] as const;
}

/** The API's largest page. */
const countedAtMost = 1_000;

function SuspendLoss({ source }: { source: string }) {
	const { answer } = useLoaded(
		(signal) => {
			const from = new Date(Date.now() - 3_600_000).toISOString();
			const query = { from, limit: countedAtMost };
			return api.get<EventList>(`${path(source)}/events`, { query, signal });
		},
		[source],
	);
	const isAll = answer?.cursor === undefined;
	return (
		<>
			<p role="status">
				{answer &&
					words.lastHour(words.lastHourCounts(answer.items.length, isAll))}
			</p>
			<p>{words.suspendLoss}</p>
		</>
	);
}

/** What it is for is said beside it: it becomes a row among those of senders. */
function TestEvent({ source }: { source: string }) {
	const [isBusy, act] = useAction();
	const sendTest = async () => {
		const { eventId, error } = await api.post<TestEventResult>(
			`${path(source)}/test-event`,
		);
		if (eventId) toast(words.sent(eventId));
		else toast(words.notSent(error?.message ?? ""), "bad");
	};
	const tables = [...live("pipelines").values()]
		.filter(({ sourceRef }) => sourceRef.name === source)
		.map(({ name, tableName }) => words.tableOf(tableName, name));
	return (
		<p>
			<button
				type="button"
				disabled={isBusy}
				onClick={() => void act(sendTest)}
			>
				{words.sendTest}
			</button>{" "}
			<span class="quiet">
				{can("pipelines", "list")
					? words.testRow(tables)
					: words.testRowSomewhere}
			</span>
		</p>
	);
}

/** The URL, and, after a Source was made, whether the first event has come. */
function WebhookURL({ source }: { source: Source }) {
	const { webhookURL, lastEventTime, counts, suspend } = source;
	const now = useMinutes();
	const provider = address.value.query.get("provider");
	const hasEvents = lastEventTime !== undefined;
	const hadEvents = useRef(hasEvents);
	const [isNew, setNew] = useState(false);
	useEffect(() => {
		if (hasEvents && !hadEvents.current) setNew(true);
		hadEvents.current = hasEvents;
	}, [hasEvents]);
	const where = provider ? providerOf(provider)?.paste : undefined;
	const number = (count = 0) => count.toLocaleString("en");
	return (
		<section class="card">
			<h2>{words.url}</h2>
			{webhookURL ? (
				<p class="copied">
					<input
						class="monospace"
						aria-label={words.url}
						readOnly
						value={webhookURL}
						onFocus={({ currentTarget }) => currentTarget.select()}
					/>
					<CopyButton text={webhookURL} label={words.copyURL(source.name)} />
				</p>
			) : (
				<p class="quiet">
					{can("sources", "patch") ? words.noURL : words.hiddenURL}
				</p>
			)}
			{where && <p>{words.paste(where)}</p>}
			{suspend && <p>{words.suspendedNow}</p>}
			{can("sources", "patch") && <TestEvent source={source.name} />}
			<p role="status">
				{!hasEvents ? (
					<StatusBadge status="Waiting" label={words.waiting} />
				) : isNew ? (
					<StatusBadge status="accepted" label={words.arrived} />
				) : (
					<span class="quiet">
						{words.counts(
							number(counts?.accepted),
							number(counts?.archived),
							number(counts?.quarantined),
						)}{" "}
						· {words.perMinute}: {words.rate(currentRate(source, now))}
					</span>
				)}
			</p>
			{hasEvents && (
				<p>
					{words.lastEvent}: <Time at={lastEventTime} inFull />
				</p>
			)}
		</section>
	);
}
