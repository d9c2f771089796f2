import { readdirSync, readFileSync } from 'node:fs';

/** Returns the processor time of a process and its threads in seconds, with Linux's resolution of 10 ms. */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
    .map(Number) as [number, number];
  return (user + system) / 100;
}

/** How long a thread has run, and how long it was ready to run but waited for a processor, in milliseconds. */
export interface ThreadTimes {
  ran: number;
  waited: number;
}

/** Returns the times of the threads of a process since their start, by their ids. The main thread's id is `pid`. */
export function threadTimes(pid: number): Map<number, ThreadTimes> {
  const times = new Map<number, ThreadTimes>();
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    try {
      const stat = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8');
      const [ran = 0, waited = 0] = stat.split(' ').map((nanoseconds) => Number(nanoseconds) / 1e6);
      times.set(Number(thread), { ran, waited });
    } catch (error) {
      // The thread has ended.
      if (!['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    }
  }
  return times;
}

/** Returns the ids of the processes that a process has started. */
export function childrenOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return children === '' ? [] : children.split(' ').map(Number);
}

/** Returns the resident memory of a process in bytes. */
export function residentBytes(pid: number): number {
  return readMemory(pid, 'VmRSS');
}

/** Returns the most resident memory that a process has had, in bytes. */
export function peakResidentBytes(pid: number): number {
  return readMemory(pid, 'VmHWM');
}

function readMemory(pid: number, field: string): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const [, kilobytes] = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status) ?? [];
  return Number(kilobytes) * 1024;
}
