import { useLayoutEffect, useState } from "preact/hooks";
import { type ApiProblem, otherFieldErrors, passes } from "../api/problem.ts";
import { components as words } from "../messages/components.ts";

/**
 * What the API refused, in its own words. Beside a form, it has the fields' errors that none of the form's fields shows.
 * @param shownFields Paths of the fields that show their own error.
 * @param triesItself Whether the page asks again by itself if the problem may pass.
 */
export function ProblemBox({
	problem,
	shownFields = [],
	onRetry,
	triesItself = false,
}: {
	problem: ApiProblem;
	shownFields?: readonly string[];
	onRetry?: () => void;
	triesItself?: boolean;
}) {
	const others = otherFieldErrors(problem, shownFields);
	return (
		<div class="notice notice-bad" role="alert">
			<p>
				<strong>{words.problemTitle}.</strong> {problem.message}
			</p>
			{shownFields.length > 0 && <InvalidFields problem={problem} />}
			{others.length > 0 && (
				<ul>
					{others.map((one) => (
						<li key={one}>{one}</li>
					))}
				</ul>
			)}
			{problem.requestId && problem.status >= 500 && (
				<p class="quiet">
					{words.requestId} <code>{problem.requestId}</code>
				</p>
			)}
			{triesItself && passes(problem) && (
				<p class="quiet">{words.triesItself}</p>
			)}
			{onRetry && (
				<button type="button" onClick={onRetry}>
					{words.tryAgain}
				</button>
			)}
		</div>
	);
}

/** The fields of the form that say what is wrong with them: each by its name, as a link to it. */
function InvalidFields({ problem }: { problem: ApiProblem }) {
	const [fields, setFields] = useState<HTMLInputElement[]>([]);
	useLayoutEffect(() => {
		const invalid = "main form [aria-invalid=true]";
		setFields([...document.querySelectorAll<HTMLInputElement>(invalid)]);
	}, [problem]);
	return fields.length === 0 ? null : (
		<ul>
			{fields.map((field) => (
				<li key={field.id}>
					<a href={`#${field.id}`}>{field.labels?.[0]?.textContent}</a>
				</li>
			))}
		</ul>
	);
}
