import { readFileSync } from 'node:fs';

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
