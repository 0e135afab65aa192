export async function checkReference() { return []; }
