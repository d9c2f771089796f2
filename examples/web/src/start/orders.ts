/** The orders in which all public spaces are listed. */
export const ORDERS = {
  popular: {
    name: 'Popular',
    hint: 'Largest first. Among similar sizes, newest first.',
  },
  newest: { name: 'New', hint: 'Newest first.' },
};

export type Order = keyof typeof ORDERS;
