import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { linesForTerminal } from "../../packages/escapes/terminal.ts";
import { components as words } from "../messages/components.ts";
import { shell } from "../messages/shell.ts";
import { address, href } from "../router/navigation.ts";

let lastPath: string | undefined;

/**
 * A page with its one `h1`, which gets the focus when the visitor comes from another page, so that a screen reader reads it.
 * @param parents Pages above this one, as address and words.
 */
export function Page({
	title,
	parents = [],
	badge,
	actions,
	children,
}: {
	title: string;
	parents?: readonly (readonly [path: string, title: string])[];
	badge?: ComponentChildren;
	actions?: ComponentChildren;
	children: ComponentChildren;
}) {
	const heading = useRef<HTMLHeadingElement>(null);
	useEffect(() => {
		document.title = `${linesForTerminal(title)} · ${shell.product}`;
	}, [title]);
	// Before the page is seen: later it would take the focus from a field that somebody has reached by Tab.
	useLayoutEffect(() => {
		const { path } = address.peek();
		if (lastPath !== undefined && lastPath !== path)
			heading.current?.focus({ preventScroll: true });
		lastPath = path;
	}, []);
	return (
		<>
			<header class="page-head">
				{parents.length > 0 && (
					<p class="parents">
						{parents.map(([path, name]) => (
							<span key={path}>
								<a href={href(path)}>{name}</a>
								<span aria-hidden="true"> / </span>
							</span>
						))}
					</p>
				)}
				<div class="page-title">
					<h1 ref={heading} tabIndex={-1}>
						{title}
					</h1>
					{badge}
					{actions && <div class="actions">{actions}</div>}
				</div>
			</header>
			{children}
		</>
	);
}

/** What a list shows that has nothing, with what to do about it. */
export function EmptyState({
	title,
	children,
}: {
	title: string;
	children?: ComponentChildren;
}) {
	return (
		<div class="empty">
			<h2>{title}</h2>
			{children}
		</div>
	);
}

/** Grey lines in place of what is still loading. */
export function Skeleton({ lines = 4 }: { lines?: number }) {
	return (
		<div class="skeleton" role="status">
			<span class="visually-hidden">{words.loading}</span>
			{Array.from({ length: lines }, (_, i) => (
				<div key={i} aria-hidden="true" />
			))}
		</div>
	);
}

/** Says that a GitOps tool manages the resource, which is then read-only. */
export function ManagedNotice({ tool }: { tool: string | undefined }) {
	if (!tool) return null;
	return (
		<div class="notice">
			{words.managedBy(tool === "ArgoCD" ? "Argo CD" : tool)}
		</div>
	);
}
