export { recomputeUsernameKeys as up } from '../../recompute-usernames.ts';
