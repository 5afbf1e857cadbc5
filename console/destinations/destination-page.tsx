import { useState } from "preact/hooks";
import { isReady, live, remember } from "../api/changes.ts";
import { ApiProblem } from "../api/problem.ts";
import { api } from "../api/request.ts";
import { can } from "../api/session.ts";
import { Conditions } from "../components/conditions.tsx";
import { DeleteButton } from "../components/dialog.tsx";
import { NotFound } from "../components/not-found.tsx";
import { ManagedNotice, Page, Skeleton } from "../components/page.tsx";
import { ProblemBox } from "../components/problem-box.tsx";
import { StatusBadge } from "../components/status-badge.tsx";
import { Time } from "../components/time.tsx";
import { toast } from "../components/toasts.ts";
import type { Destination } from "../generated/types.ts";
import { destinations as words } from "../messages/destinations.ts";
import { PipelinesOf } from "../pipelines/pipelines-of.tsx";
import { draftOf, type ResourceView } from "../resource/draft.ts";
import { YamlPanel } from "../resource/yaml-panel.tsx";
import { href, namespace, navigateFromHere } from "../router/navigation.ts";
import type { PageProps } from "../router/route.ts";
import { placeOf } from "./form.ts";

/** `destinations/<name>`: how it is, in the warehouse's own words, and who loads into it. */
export function DestinationPage({ params }: PageProps) {
	const name = params.name!;
	const destination = live("destinations").get(name);
	const [problem, setProblem] = useState<ApiProblem>();
	const [isChecking, setChecking] = useState(false);
	const parents = [["destinations", words.title]] as const;
	if (!destination)
		return isReady("destinations") ? (
			<NotFound path={`destinations/${name}`} />
		) : (
			<Page title={name} parents={parents}>
				<Skeleton />
			</Page>
		);
	const path = `destinations/${encodeURIComponent(name)}`;
	const check = async () => {
		setChecking(true);
		setProblem(undefined);
		try {
			const before = destination.lastCheck?.time;
			const seen = await api.post<Destination>(`${path}/check`);
			remember("destinations", seen);
			toast(seen.lastCheck?.time === before ? words.checking : words.checked);
		} catch (error) {
			if (!(error instanceof ApiProblem)) throw error;
			setProblem(error);
		} finally {
			setChecking(false);
		}
	};
	const { status = "Checking", managedBy, lastCheck } = destination;
	const actions = (
		<>
			{can("destinations", "patch") && (
				<button
					type="button"
					class="button-primary"
					disabled={isChecking}
					onClick={() => void check()}
				>
					{words.checkNow}
				</button>
			)}
			{can("destinations", "update") && !managedBy && (
				<a class="button" href={href(`destinations/${name}/edit`)}>
					{words.edit}
				</a>
			)}
		</>
	);
	return (
		<Page
			title={name}
			parents={parents}
			badge={<StatusBadge status={status} />}
			actions={actions}
		>
			{destination.displayName && (
				<p class="quiet">{destination.displayName}</p>
			)}
			<ManagedNotice tool={managedBy} />
			{problem && <ProblemBox problem={problem} />}
			{lastCheck?.warning && (
				<section class="notice notice-warning" aria-labelledby="warning">
					<h2 id="warning">{words.warning}</h2>
					<p>{lastCheck.warning}</p>
				</section>
			)}
			<dl class="facts">
				<div>
					<dt>{words.type}</dt>
					<dd>{destination.type}</dd>
				</div>
				<div>
					<dt>{words.where}</dt>
					<dd>
						<code>{placeOf(destination)}</code>
					</dd>
				</div>
				<div>
					<dt>{words.lastCheck}</dt>
					<dd>
						<Time at={lastCheck?.time} inFull />
					</dd>
				</div>
			</dl>
			<Conditions conditions={destination.conditions} />
			<PipelinesOf
				title={words.pipelines}
				none={words.noPipelines}
				isOne={({ destinationRef }) => destinationRef.name === name}
				begun={{ destination: name }}
			/>
			<YamlPanel
				kind="Destination"
				draft={draftOf("Destination", destination as unknown as ResourceView)}
				namespace={namespace.value}
			/>
			{can("destinations", "delete") && !managedBy && (
				<div class="actions">
					<DeleteButton
						name={name}
						loss={<p>{words.deleteLoss}</p>}
						onDelete={async () => {
							const goOn = navigateFromHere();
							await api.delete(path);
							toast(words.deleting(name));
							await goOn("destinations");
						}}
					/>
				</div>
			)}
		</Page>
	);
}
