const PATHS = {
  heart:
    'M12 20.3 4.6 13a4.9 4.9 0 0 1 0-6.9 4.8 4.8 0 0 1 6.8 0l.6.6.6-.6a4.8 4.8 0 0 1 6.8 0 4.9 4.9 0 0 1 0 6.9Z',
  flag: 'M6 21V4m0 0h11l-2.2 4L17 12H6',
  link: 'M10 14a4 4 0 0 0 6 .4l3-3a4 4 0 0 0-5.7-5.7l-1.2 1.2M14 10a4 4 0 0 0-6-.4l-3 3a4 4 0 0 0 5.7 5.7l1.2-1.2',
  lock: 'M7 11V8a5 5 0 0 1 10 0v3M5 11h14v9H5z',
  pencil: 'm4 20 1-4L16 5l3 3L8 19ZM13.500 7.500l3 3',
  person:
    'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8Zm-7.500 8.500c0-3.800 3.400-6 7.500-6s7.500 2.200 7.500 6',
  'person-minus':
    'M10 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8Zm-7 8.500c0-3.800 3-6 7-6s7 2.200 7 6M16.500 9.500h5.500',
  plus: 'M12 5v14M5 12h14',
  reply: 'm9 5-5 5 5 5M4 10h9a7 7 0 0 1 7 7v2',
  search: 'M10.500 17a6.500 6.500 0 1 0 0-13 6.500 6.500 0 0 0 0 13Zm4.600-1.900L20 20',
  send: 'M4 12 20 4l-5 16-3.500-6.500Z',
  shield: 'M12 3.500 5 6v5.500c0 4.500 3 7.500 7 9 4-1.500 7-4.500 7-9V6Z',
  'shield-cross':
    'M12 3.500 5 6v5.500c0 4.500 3 7.500 7 9 4-1.500 7-4.500 7-9V6ZM9.500 9.500l5 5m0-5-5 5',
  trash: 'M5 7h14M9 7V4h6v3m-8 0 1 13h8l1-13',
};

/** A decoration. Put its meaning as text next to it, visible or not. */
export function Icon({ name }: { name: keyof typeof PATHS }) {
  return (
    <svg className="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
