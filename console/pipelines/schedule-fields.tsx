import { useId, useState } from "preact/hooks";
import { pipelineForm as hints } from "../../crds/forms.ts";
import type { PipelineSchedule } from "../../crds/generated/types.ts";
import { Field, SelectField, TextField } from "../components/field.tsx";
import { pipelines as words } from "../messages/pipelines.ts";
import { type FormContext, textAt, withField } from "../resource/draft.ts";
import { SchemaFields } from "../resource/schema-fields.tsx";
import {
	cronWords,
	scheduleOf,
	scheduleOutlook,
	scheduleType,
	scheduleTypes,
	wallText,
	withScheduleType,
} from "./schedule.ts";

const visitorZone = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** When the Pipeline runs, and the times that follow from it. */
export function ScheduleFields({ form }: { form: FormContext }) {
	const { draft, onDraft, errorAt } = form;
	const type = scheduleType(draft);
	const at = (field: string) => textAt(draft.spec, `schedule.${field}`);
	const set = (field: string) => (text: string) =>
		onDraft(withField(draft, `schedule.${field}`, text || undefined));
	const cron = at("cron");
	const inWords = type === "Cron" ? cronWords(cron) : undefined;
	return (
		<section class="group" aria-labelledby="schedule">
			<h2 id="schedule">{words.schedule}</h2>
			<SelectField
				label={words.scheduleType}
				error={errorAt("schedule.type")}
				value={type}
				options={scheduleTypes.map((one) => [one, words.scheduleTypes[one]])}
				onChange={(next) => onDraft(withScheduleType(draft, next))}
			/>
			{(type === "Daily" || type === "Interval") && (
				<SchemaFields kind="Pipeline" hints={hints[type]} form={form} />
			)}
			{type === "Cron" && (
				<TextField
					label={words.cron}
					isMonospace
					help={inWords ? words.inWords(inWords) : words.cronHelp}
					error={errorAt("schedule.cron")}
					value={cron}
					onInput={set("cron")}
				/>
			)}
			{(type === "Daily" || type === "Cron") && (
				<ZoneField
					value={at("timeZone")}
					error={errorAt("schedule.timeZone")}
					onInput={set("timeZone")}
				/>
			)}
			{type !== "Manual" && (
				<SchemaFields kind="Pipeline" hints={hints.suspend} form={form} />
			)}
			<NextRuns
				schedule={scheduleOf(draft)}
				isSuspended={draft.spec.suspend === true}
			/>
		</section>
	);
}

export function ZoneField({
	label = words.timeZone,
	value,
	error,
	onInput,
}: {
	label?: string;
	value: string;
	error?: string | undefined;
	onInput(zone: string): void;
}) {
	const zones = useId();
	return (
		<Field label={label} help={words.timeZoneHelp} error={error}>
			{(ids) => (
				<>
					<input
						{...ids}
						type="text"
						list={zones}
						value={value}
						spellcheck={false}
						autocomplete="off"
						onInput={(event) => onInput(event.currentTarget.value)}
					/>
					<datalist id={zones}>
						{Intl.supportedValuesOf("timeZone").map((zone) => (
							<option key={zone} value={zone} />
						))}
					</datalist>
				</>
			)}
		</Field>
	);
}

function NextRuns({
	schedule,
	isSuspended,
}: {
	schedule: Partial<PipelineSchedule>;
	isSuspended: boolean;
}) {
	const zones = [...new Set([schedule.timeZone ?? "UTC", "UTC", visitorZone])];
	const [chosen, setChosen] = useState<string>();
	const outlook = scheduleOutlook(schedule, Date.now());
	const usable = zones.filter(isUsable);
	const zone =
		chosen !== undefined && usable.includes(chosen) ? chosen : usable[0]!;
	return (
		<div class="next-runs">
			<h3>{words.nextRuns}</h3>
			{"fault" in outlook ? (
				<p class="error">
					{outlook.fault.path.replace("schedule.", "")}: {outlook.fault.message}
				</p>
			) : isSuspended ? (
				<p class="quiet">{words.suspended}</p>
			) : outlook.times.length === 0 ? (
				<p class="quiet">{words.noRuns}</p>
			) : (
				<>
					<SelectField
						label={words.shownIn}
						value={zone}
						options={usable.map((one) => [one, one])}
						onChange={setChosen}
					/>
					<ol aria-live="polite">
						{outlook.times.map((at) => (
							<li key={at}>
								<time dateTime={new Date(at).toISOString()}>
									{wallText(at, zone)}
								</time>
							</li>
						))}
					</ol>
				</>
			)}
		</div>
	);
}

function isUsable(zone: string): boolean {
	try {
		wallText(0, zone);
		return true;
	} catch {
		return false;
	}
}
