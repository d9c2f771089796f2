/** Names this browser, so that people recognize its session in a list. */
export function deviceName(): string {
  const { userAgent } = navigator;
  const browser = BROWSERS.find((each) => userAgent.includes(each)) ?? 'Browser';
  const system = /(Android|iPhone|iPad|Windows|Mac OS|Linux)/.exec(userAgent)?.[0];
  return system ? `${NAMES[browser] ?? browser} on ${system}` : browser;
}

/** In this order, because most browsers also name others. */
const BROWSERS = ['Firefox', 'Edg', 'OPR', 'Chrome', 'Safari'];
const NAMES: Record<string, string> = { Edg: 'Edge', OPR: 'Opera' };
