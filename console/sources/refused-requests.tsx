import { api } from "../api/request.ts";
import { useLoaded } from "../api/use-loaded.ts";
import { DataTable } from "../components/data-table.tsx";
import { EmptyState, Skeleton } from "../components/page.tsx";
import { ProblemBox } from "../components/problem-box.tsx";
import { Time } from "../components/time.tsx";
import type { RefusedRequestList } from "../generated/types.ts";
import { sources as words } from "../messages/sources.ts";

/** The requests that the Source refused, with the reason that its owner needs. */
export function RefusedRequests({ source }: { source: string }) {
	const path = `sources/${encodeURIComponent(source)}/refusals`;
	const { answer, problem, retry } = useLoaded(
		(signal) => api.get<RefusedRequestList>(path, { signal }),
		[path],
	);
	const rows = answer?.items;
	return (
		<section aria-label={words.refusedTitle}>
			<div class="page-title">
				<h2>{words.refusedTitle}</h2>
				<button type="button" onClick={retry}>
					{words.reload}
				</button>
			</div>
			{problem ? (
				<ProblemBox problem={problem} onRetry={retry} triesItself />
			) : !rows ? (
				<Skeleton lines={2} />
			) : rows.length === 0 ? (
				<EmptyState title={words.noRefused}>
					<p>{words.noRefusedHelp}</p>
				</EmptyState>
			) : (
				<DataTable
					caption={words.refusedTable}
					rows={rows}
					keyOf={({ time, code, userAgent }) => `${time} ${code} ${userAgent}`}
					columns={[
						{
							key: "time",
							title: words.time,
							render: ({ time }) => <Time at={time} />,
						},
						{
							key: "status",
							title: words.code,
							render: ({ status, code }) => `${status} ${code}`,
						},
						{
							key: "why",
							title: words.why,
							render: ({ message, cause, leftOut }) => (
								<>
									{message}
									{cause && <div class="quiet">{cause}</div>}
									{leftOut && (
										<div class="quiet">{words.refusedCount(leftOut)}</div>
									)}
								</>
							),
						},
						{
							key: "sender",
							title: words.sender,
							render: ({ method, userAgent = "" }) => `${method} ${userAgent}`,
						},
					]}
				/>
			)}
		</section>
	);
}
