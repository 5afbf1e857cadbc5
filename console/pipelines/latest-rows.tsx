import { latestViewOf } from "../../crds/table-name.ts";
import { CheckField, ListError } from "../components/field.tsx";
import { pipelines as words } from "../messages/pipelines.ts";
import type { FormContext } from "../resource/draft.ts";
import {
	chosenTable,
	clashOf,
	followsEvents,
	latestBy,
	withLatestBy,
} from "./form.ts";
import { type ChosenColumn, keyChoices } from "./table-columns.ts";

/** The key of the view of latest rows, picked from the table's columns. */
export function LatestRows({
	form: { draft, onDraft, errorAt },
	columns,
}: {
	form: FormContext;
	columns: readonly ChosenColumn[];
}) {
	const clash = clashOf(draft, "table.latestBy");
	const error = errorAt("table.latestBy");
	// What is ticked can always be given up.
	const choices = keyChoices(draft, columns).filter(
		({ isTicked }) => !clash || isTicked,
	);
	return (
		<fieldset class="group">
			<legend>{words.latest}</legend>
			<p class="help">
				{words.latestHelp(latestViewOf(chosenTable(draft) || "<table>"))}
			</p>
			{clash && latestBy(draft).length === 0 && <p class="quiet">{clash}</p>}
			{!clash && !choices.some(({ name }) => name !== "date") && (
				<p class="quiet">
					{followsEvents(draft) ? words.keysToCome : words.noKeys}
				</p>
			)}
			{choices.length > 0 && (
				<ul class="choices">
					{choices.map(({ name, type, isTicked, problem }, at) => (
						<li key={at}>
							<CheckField
								label={type === "" ? name : `${name} (${type})`}
								error={problem}
								checked={isTicked}
								onChange={(next) => onDraft(withLatestBy(draft, name, next))}
							/>
						</li>
					))}
				</ul>
			)}
			<ListError error={error} />
		</fieldset>
	);
}
