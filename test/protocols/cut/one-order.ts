/** Which of several equal processes is in a state makes no difference: half of the states are others in disguise. */
export function inOneOrder<Process>(processes: Process[]): Process[] {
	if (processes.length < 2) return processes;
	return processes
		.map((process) => ({ process, text: JSON.stringify(process) }))
		.sort((a, b) => (a.text < b.text ? -1 : 1))
		.map(({ process }) => process);
}
