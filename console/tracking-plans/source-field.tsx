import { live } from "../api/changes.ts";
import { SelectField } from "../components/field.tsx";
import { trackingPlans as words } from "../messages/tracking-plans.ts";

export function SourceField({
	label = words.source,
	value,
	names = [...live("sources").keys()],
	onChange,
}: {
	label?: string;
	value: string;
	names?: readonly string[];
	onChange(name: string): void;
}) {
	return (
		<SelectField
			label={label}
			value={value}
			options={[
				["", words.chooseSource],
				...[...names].sort().map((name) => [name, name] as const),
			]}
			onChange={onChange}
		/>
	);
}
