/**
 * Returns the first element that matches.
 * @throws Error if there is none
 */
export function find<T extends HTMLElement>(selector: string, root: ParentNode = document): T {
  const element = root.querySelector<T>(selector);
  if (!element) throw new Error(`The page has no element ${selector}.`);
  return element;
}

/** Returns a copy of the element in a `<template>`. */
export function copyTemplate(id: string): HTMLElement {
  const { content } = find<HTMLTemplateElement>(`template#${id}`);
  return find('*', content.cloneNode(true) as DocumentFragment);
}

/** Returns a number with its noun, such as “1 space” or “1,200 spaces”. */
export function quantity(count: number, noun: string): string {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;
}
