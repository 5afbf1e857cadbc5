import { TextField } from "../components/field.tsx";
import { forms as words } from "../messages/forms.ts";
import {
	notifySecrets,
	textAt,
	withField,
	withNotifySecrets,
} from "./draft.ts";
import type { FormContext } from "./resource-form.tsx";

/** What a kind calls the time after which somebody is told. */
export type NotifyAfter = "lateAfter" | "quietAfter";

/** How long a resource may be late or quiet before somebody is told, and who that is. */
export function NotifyFields({
	after,
	form: { draft, onDraft, errorAt },
}: {
	after: NotifyAfter;
	form: FormContext;
}) {
	const path = `notify.${after}`;
	return (
		<>
			<TextField
				label={words.notifyAfter[after].label}
				help={words.notifyAfter[after].help}
				error={errorAt(path)}
				value={textAt(draft.spec, path)}
				onInput={(text) => onDraft(withField(draft, path, text || undefined))}
			/>
			<TextField
				label={words.notifySecrets}
				help={words.notifySecretsHelp}
				rows={2}
				isMonospace
				error={errorAt("notify.secretRefs")}
				value={notifySecrets(draft)}
				onInput={(text) => onDraft(withNotifySecrets(draft, text))}
			/>
		</>
	);
}
