/** The pure decisions: state and time in, actions out. `make mutants` changes each of their expressions in turn. */
export const decisions = [
	"packages/fair/fair-room.ts",
	"packages/kube/reconcile/lease-decision.ts",
	"operator/**/decide.ts",
	"operator/{api-secret,move-plan,served-namespaces}.ts",
	"operator/source/facts.ts",
	"operator/destination/decide.ts",
	"operator/jobs/transition.ts",
	"operator/pipeline/plan-dates.ts",
	"operator/pipeline/{table-owners,load-quota,report,run-history,target,timing}.ts",
	"crds/schedule.ts",
	"ingest/archive/decide/*.ts",
	"packages/warehouses/*/load/plan.ts",
	"packages/warehouses/load/table-mark.ts",
	"ingest/load/load-days.ts",
	"ingest/receive/commit/{committer,claims,frame-builder}.ts",
];
