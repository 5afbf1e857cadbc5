import { useState } from "preact/hooks";
import { components as words } from "../messages/components.ts";
import { toast } from "./toasts.ts";

/** @param label What is copied, for who can't see what stands beside the button. */
export function CopyButton({
	text,
	label,
	children = words.copy,
}: {
	text: string | (() => string);
	label?: string;
	children?: string;
}) {
	const [isCopied, setCopied] = useState(false);
	const copy = async () => {
		try {
			await navigator.clipboard.writeText(
				typeof text === "string" ? text : text(),
			);
			setCopied(true);
			setTimeout(() => setCopied(false), 2000);
		} catch {
			toast(words.copyFailed, "bad");
		}
	};
	return (
		<button
			type="button"
			class="button-small"
			aria-label={label}
			onClick={copy}
		>
			{isCopied ? words.copied : children}
			<span class="visually-hidden" role="status">
				{isCopied ? words.copied : ""}
			</span>
		</button>
	);
}
