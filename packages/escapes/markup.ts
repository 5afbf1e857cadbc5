import { escapedForTerminal } from "./terminal.ts";

/** Text in HTML, between tags or as an attribute's value in quotes. */
export function htmlText(text: string): string {
	return text
		.replaceAll("&", "&amp;")
		.replaceAll("<", "&lt;")
		.replaceAll(">", "&gt;")
		.replaceAll('"', "&quot;")
		.replaceAll("'", "&#39;");
}

/**
 * Text in Markdown that shows as it is: plain words stand alone, all else as code, in which nothing has a meaning (CommonMark §6.1).
 * A line end, which would end a paragraph and so the code, shows as its escape.
 */
export function markdownText(text: string): string {
	if (/^[\p{L}\p{N} .,:/-]*(?:_[\p{L}\p{N} .,:/-]+)*$/u.test(text)) return text;
	const code = escapedForTerminal(text);
	const runs = code.match(/`+/g) ?? [];
	const fence = "`".repeat(
		Math.max(0, ...runs.map(({ length }) => length)) + 1,
	);
	// One space beside each fence isn't shown, unless there is nothing else.
	return /^`|`$|^ .* $/s.test(code)
		? `${fence} ${code} ${fence}`
		: `${fence}${code}${fence}`;
}

/** Text that Jinja renders as it is (jinja.palletsprojects.com/templates/#escaping), as dbt renders each text of its YAML. */
export function jinjaText(text: string): string {
	return text.replaceAll(/\{(?=[{%#])/g, "{{ '{' }}");
}

/**
 * Text of a message in Slack, and in what takes its messages: it can call nobody, and begins no line of its own. Slack's own
 * characters are `&`, `<` and `>` (docs.slack.dev/messaging/formatting-message-text/#escaping); others also read `@channel`.
 */
export function slackText(text: string): string {
	return escapedForTerminal(text.replaceAll(/\s+/g, " "))
		.replaceAll("&", "&amp;")
		.replaceAll("<", "&lt;")
		.replaceAll(">", "&gt;")
		.replaceAll("@", "@\u200b");
}
