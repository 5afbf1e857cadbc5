import { knownNouns } from "../../packages/warehouses/registry.ts";

/** The words of the Destinations' pages. */
export const destinations = {
	title: "Destinations",
	newDestination: "New destination",
	name: "Name",
	status: "Status",
	type: "Type",
	where: "Where",
	lastCheck: "Last check",
	emptyTitle: "No destinations yet",
	empty: `A destination is a warehouse into which pipelines load: ${knownNouns()}.`,

	what: "What it is",
	destinationName: "Destination name",
	nameHelp: "For kubectl and the API. It can't change later.",
	displayName: "Display name",

	user: "Or a user and a password",
	userHelp:
		"In place of a Secret of yours. They are kept in a new Secret, which goes to this address alone, and never shown again.",
	username: "User",
	password: "Password",
	passwordAgain:
		"The address has changed. The Secret goes to the former one, unless its annotation tidemill.dev/hosts names the new one, too. Enter the user and the password again.",

	checkNow: "Check now",
	checking: "The check runs. What it finds is shown here.",
	checked: "The check has ended.",
	warning: "What the warehouse does that you may not expect",
	edit: "Edit",
	editTitle: (name: string) => `Edit ${name}`,
	pipelines: "Pipelines into it",
	noPipelines: "No pipeline loads into it yet.",
	deleteLoss:
		"Tidemill forgets how to reach the warehouse. Tables and rows in it stay. Pipelines that name it can't run any more; while there are any, the API refuses.",
	deleting: (name: string) => `${name} is being deleted.`,
};
