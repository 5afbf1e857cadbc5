/** The pure decisions: state and time in, actions out. `make mutants` changes each of their expressions in turn. */
export const decisions = [
	"kube/lease/decide.ts",
	"operator/**/decide.ts",
	"operator/run/{plan-dates,turn,follow}.ts",
	"operator/pipeline/{timing,schedule}.ts",
	"ingest/archive/decide/*.ts",
	"ingest/load/**/plan.ts",
	"ingest/receive/commit/{committer,claims,frame-builder,fair-selection}.ts",
];
